// What a call tells: the usage as the SDK has it when all is over, and the error that a program would see; as in
// calls/told.py. The SDKs themselves are those that tests/e2e/sdk/node installs.
import { createRequire } from "node:module";

export const require = createRequire(new URL("../../sdk/node/main.mjs", import.meta.url));

export const telling = (calls, facts) =>
  Object.fromEntries(
    Object.entries(calls).map(([name, call]) => [
      name,
      async (order) => {
        const told = { usage: null, raised: null };
        try {
          await call(order, told);
        } catch (error) {
          // An error in the middle of a stream may have no status.
          const known = error.status ? facts(error) : { type: error.type, code: error.code };
          told.raised = { class: error.constructor.name, text: String(error.message), status: error.status, ...known };
        }
        return told;
      },
    ]),
  );
