# Three images: `envoy` is the gateway (stock Envoy, its configuration, the filter), `command` the tool that puts a document
# and the clusters of its accounts in force (and adds up the ledger), `upstream` the simulator of the model sources.
# docker-compose.yaml builds and joins them; each can be had alone with `docker build --target envoy .`.
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
COPY src src
COPY console console
COPY control control
COPY docs/clients docs/clients
COPY envoy/envoy.yaml envoy/limits-service.yaml envoy/requirements.txt envoy/
COPY tests/upstream tests/upstream
COPY tests/bench tests/bench
RUN cargo rustc --locked --release --lib --crate-type cdylib --target wasm32-wasip1 --package trilane
# Without simulators in the command: they have an image of their own, and an edit of the sample document builds nothing anew.
RUN CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    TRILANE_EMBED_WASM=/build/target/wasm32-wasip1/release/trilane.wasm \
    cargo build --locked --release --package trilane-upstream --package trilane-control --no-default-features

# ---- The simulator

FROM ${RUNTIME_IMAGE} AS upstream
COPY --from=build /build/target/release/trilane-upstream /usr/local/bin/
# A volume that is mounted here for the first time takes its owner from this directory.
RUN install -d -o 10001 -g 10001 /etc/trilane/certs
USER 10001:10001
EXPOSE 9101 9102 9103 9104
ENTRYPOINT ["/usr/local/bin/trilane-upstream"]
CMD ["serve", "--listen", "a_official=0.0.0.0:9101", "--listen", "b_official=0.0.0.0:9102", \
     "--listen", "b_low_rate=0.0.0.0:9103", "--listen", "c_official=0.0.0.0:9104"]

# ---- The command

FROM ${ENVOY_IMAGE} AS stock

FROM ${RUNTIME_IMAGE} AS command
COPY --from=build /build/target/release/trilane /usr/local/bin/
# It looks whether what it names in Envoy's configuration is there: so here is all of it that an image brings.
COPY --from=build /build/target/wasm32-wasip1/release/trilane.wasm /etc/trilane/filter/
COPY --from=stock /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
# Again for the owner of the volumes. Envoy's user, so that a credential that this can read Envoy can read too.
RUN install -d -o 10001 -g 10001 /etc/trilane/upstreams /etc/trilane/document
USER 10001:10001
ENTRYPOINT ["/usr/local/bin/trilane"]
# The document that is edited is in a place of its own: what is in force is a copy of it.
CMD ["render", "--watch", "--document", "/in/gateway.json", "--publish", "/etc/trilane/document/gateway.json", \
     "--out", "/etc/trilane/upstreams", "--credentials", "/etc/trilane/credentials", \
     "--filter", "/etc/trilane/filter/trilane.wasm"]

# ---- The gateway
#
# It is complete but for four directories to be mounted: /etc/trilane/document with gateway.json and /etc/trilane/upstreams with
# its clusters, both as the command puts them there, /etc/trilane/credentials with the files that the document names,
# /etc/trilane/certs with server.crt and server.key. Envoy writes no file, so the rest may be read-only.

FROM stock AS envoy
COPY --from=build /build/target/wasm32-wasip1/release/trilane.wasm /etc/trilane/filter/
# Another configuration, such as `trilane envoy-config --mode compose` prints: --build-arg ENVOY_CONFIG=envoy/envoy-limits.yaml
ARG ENVOY_CONFIG=envoy/envoy.yaml
COPY ${ENVOY_CONFIG} /etc/trilane/envoy.yaml
# Not root, and the same user as above, who owns the private key. The image's own entry point would only change the user.
USER 10001:10001
EXPOSE 10000 10443
ENTRYPOINT ["/usr/local/bin/envoy", "--config-path", "/etc/trilane/envoy.yaml", "--disable-hot-restart"]
CMD ["--concurrency", "2"]
