# Two images: `envoy` is the gateway (stock Envoy, its configuration, the filter), `upstream` the simulator of the model
# sources. docker-compose.yaml builds and joins them; each can be had alone with `docker build --target envoy .`.
#
# Written for every builder, the old one without BuildKit as well: no cache mounts, no `COPY --chmod`.

# Any of these may be a mirror or a newer patch: docker build --build-arg ENVOY_IMAGE=...
# Build and runtime image must be of the same Debian release, for the C library.
ARG RUST_IMAGE=rust:1.95-slim-bookworm
ARG RUNTIME_IMAGE=debian:bookworm-slim
ARG ENVOY_IMAGE=envoyproxy/envoy:v1.40.0

# ---- Building, by the commands of the Makefile

FROM ${RUST_IMAGE} AS build
RUN rustup target add wasm32-wasip1
WORKDIR /build
COPY Cargo.toml Cargo.lock ./
COPY src src
COPY control control
COPY tests/upstream tests/upstream
RUN CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    cargo build --locked --release --package trilane-upstream
RUN cargo rustc --locked --release --lib --crate-type cdylib --target wasm32-wasip1 --package trilane

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

# ---- The gateway
#
# It is complete but for two directories to be mounted: /etc/trilane/document with gateway.json, /etc/trilane/certs with
# server.crt and server.key. Envoy writes no file, so the rest may be read-only.

FROM ${ENVOY_IMAGE} AS envoy
COPY --from=build /build/target/wasm32-wasip1/release/trilane.wasm /etc/trilane/filter/
COPY envoy/envoy.yaml /etc/trilane/
# Not root, and the same user as above, who owns the private key. The image's own entry point would only change the user.
USER 10001:10001
EXPOSE 10000 10443
ENTRYPOINT ["/usr/local/bin/envoy", "--config-path", "/etc/trilane/envoy.yaml", "--disable-hot-restart"]
CMD ["--concurrency", "2"]
