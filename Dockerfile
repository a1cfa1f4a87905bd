# The gateway as one image: `trilane up` runs Envoy with the filter, and beside it the console and the agent. docker-compose.yaml
# builds it; alone: docker build --tag trilane/gateway .
#
# Written for every builder, the old one without BuildKit as well: no cache mounts, no `COPY --chmod`.

# Any of these may be a mirror, a newer patch or a digest: docker build --build-arg ENVOY_IMAGE=... (docker-compose.yaml names
# the same ones). Build and runtime image must be of the same Debian release, for the C library.
ARG RUST_IMAGE=rust:1.95.0-slim-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-20251229-slim
ARG ENVOY_IMAGE=envoyproxy/envoy:v1.40.0

# ---- Building, by the commands of the Makefile

FROM ${RUST_IMAGE} AS build
RUN rustup target add wasm32-wasip1
WORKDIR /build
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo
COPY abi abi
COPY judge judge
COPY src src
COPY console console
COPY control control
COPY docs/clients docs/clients
COPY envoy/envoy.yaml envoy/ads.yaml envoy/agent.yaml envoy/limits-service.yaml envoy/sign-in.yaml envoy/requirements.txt envoy/gateway.json envoy/
COPY envoy/credentials envoy/credentials
COPY tests/upstream tests/upstream
COPY tests/bench tests/bench
RUN cargo rustc --locked --release --lib --crate-type cdylib --target wasm32-wasip1 --package trilane
RUN cargo rustc --locked --release --lib --crate-type cdylib --target wasm32-wasip1 --package trilane-judge
RUN CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    TRILANE_EMBED_WASM=/build/target/wasm32-wasip1/release/trilane.wasm \
    cargo build --locked --release --package trilane-control

# ---- The command alone, for pods with an Envoy of their own (docs/helm.md, docs/istio.md): what release/images.py makes, from this tree

FROM ${ENVOY_IMAGE} AS stock

FROM ${RUNTIME_IMAGE} AS command
COPY --from=build /build/target/release/trilane /usr/local/bin/
COPY --from=build /build/target/wasm32-wasip1/release/trilane.wasm /etc/trilane/filter/
COPY --from=build /build/target/wasm32-wasip1/release/trilane_judge.wasm /etc/trilane/filter/
COPY --from=stock /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# A volume that is mounted for the first time takes its owner from these directories.
RUN install -d -o 10001 -g 10001 /etc/trilane/document /etc/trilane/upstreams
# Envoy's user, so that a credential that this can read Envoy can read too.
USER 10001:10001
ENTRYPOINT ["/usr/local/bin/trilane"]
CMD ["--help"]

# ---- The gateway

# Envoy's binary needs an older C library than this has; the command needs the one that it was built with.
FROM ${RUNTIME_IMAGE} AS gateway
COPY --from=stock /usr/local/bin/envoy /usr/local/bin/
COPY --from=stock /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /build/target/release/trilane /usr/local/bin/
# From here on as in release/compose/Dockerfile.
# A volume that is mounted for the first time takes its owner from these directories.
RUN install -d -m 0700 -o 10001 -g 10001 /data /data/certs /document
USER 10001:10001
# SQLite's temporary files go to the working directory where the rest is read-only.
WORKDIR /data
ENTRYPOINT ["/usr/local/bin/trilane"]
CMD ["up", "--data=/data", "--console"]
