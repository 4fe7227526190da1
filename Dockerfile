# Tender as a container: docs/container.md says how it is run.
#
#     docker build -t tender .
#     docker run --rm --read-only -v tender-state:/var/lib/tender -e FLEET_URL -e FLEET_API_TOKEN tender \
#         apply --repository https://git.example.com/it/fleet.git

FROM debian:bookworm AS build
WORKDIR /source
# The packages first: they change less often than the sources.
COPY dev ./
RUN ./dev setup
COPY . .
RUN cmake --preset release \
    && cmake --build --preset release \
    && strip build/release/cmd/tender/tender \
    && cmake/collect_runtime.sh build/release/cmd/tender/tender /runtime \
    && mkdir /state && mv /runtime/var/lib/tender /state/

FROM scratch
COPY --from=build /runtime /
# By its parent, so that the folder itself gets the owner; a named volume takes it over.
COPY --from=build --chown=65532:65532 /state/ /var/lib/
USER 65532:65532
ENV PATH=/usr/bin HOME=/var/lib/tender TENDER_STATE_DIR=/var/lib/tender
VOLUME ["/var/lib/tender"]
ENTRYPOINT ["tender"]
CMD ["help"]
