// A certified provider of OpenID Connect, with one client. `node oidc_provider.mjs PORT CONSOLE ALG CONFORM`. Accounts are changed
// at /control.
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";

import Provider from "oidc-provider";

const [port, site, alg, conform] = process.argv.slice(2);
const accounts = new Map();
const key = alg === "RS256" ? generateKeyPairSync("rsa", { modulusLength: 2048 }) : generateKeyPairSync("ec", { namedCurve: "P-256" });

const provider = new Provider(`http://localhost:${port}`, {
  clients: [
    {
      client_id: "trilane",
      client_secret: "a-secret-of-the-test",
      redirect_uris: [`${site}/sign-in/with/idp/callback`],
      post_logout_redirect_uris: [`${site}/sign-in`],
      grant_types: ["authorization_code", "refresh_token"],
      id_token_signed_response_alg: alg,
    },
  ],
  jwks: { keys: [{ ...key.privateKey.export({ format: "jwk" }), use: "sig", kid: "k1", alg }] },
  scopes: ["openid", "offline_access", "email", "profile", "groups"],
  claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"], groups: ["groups"] },
  conformIdTokenClaims: conform === "true",
  enabledJWA: { idTokenSigningAlgValues: ["RS256", "ES256"] },
  pkce: { required: () => true },
  issueRefreshToken: async () => true,
  cookies: { keys: ["a key of the test"] },
  findAccount: async (_, sub) => {
    const claims = accounts.get(sub);
    return claims && { accountId: sub, claims: async () => ({ sub, ...claims }) };
  },
});

const served = provider.callback();
createServer((request, response) => {
  if (request.method === "POST" && request.url.startsWith("/control/")) {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      const sub = request.url.slice("/control/".length);
      if (body) accounts.set(sub, JSON.parse(body));
      else accounts.delete(sub);
      response.writeHead(204).end();
    });
  } else {
    served(request, response);
  }
}).listen(Number(port), "localhost", () => console.log("ready"));
