# Mnemic as a container: docs/how-to/run-in-a-container.md tells how to run it.
#
#   docker build -t mnemic .            podman build --format docker -t mnemic .
#
# An index of packages of your own comes as a secret and stays out of the image: --secret id=pip,src=pip.conf
ARG BASE=docker.io/library/python:3.11-slim-bookworm

FROM ${BASE} AS build
# Which extras are installed: `server` is needed to serve; the others are stores, documents, models and traces.
ARG EXTRAS=all,telemetry
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_CACHE_DIR=/var/cache/pip PIP_CONSTRAINT=/build/constraints.txt
WORKDIR /build
RUN python3 -m venv /opt/mnemic
COPY constraints.txt pyproject.toml README.md LICENSE ./
COPY src src
RUN --mount=type=secret,id=pip,target=/etc/pip.conf --mount=type=cache,target=/var/cache/pip \
    /opt/mnemic/bin/pip wheel --no-deps --wheel-dir /build/dist . \
    && /opt/mnemic/bin/pip install "$(echo /build/dist/mnemic-*.whl)[${EXTRAS}]" \
    && /opt/mnemic/bin/pip uninstall --yes pip setuptools

FROM ${BASE}
COPY --from=build /opt/mnemic /opt/mnemic
# Group 0, so that any other user of that group can write to a new volume too (`--user 1234:0`, OpenShift).
RUN useradd --uid 10001 --gid 0 --no-create-home --home-dir /data --shell /usr/sbin/nologin mnemic \
    && install --directory --owner 10001 --group 0 --mode 0770 /data
# The store is /data/mnemic/memory.db unless MNEMIC_STORE or PGVECTOR_URL names another; /etc/mnemic/config.toml is
# read when it is mounted. Without a key in the store `serve` refuses this address, so that nothing is open to all.
ENV PATH=/opt/mnemic/bin:$PATH HOME=/data XDG_DATA_HOME=/data XDG_CONFIG_HOME=/etc \
    MNEMIC_HOST=0.0.0.0 MNEMIC_PORT=7700 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:0
WORKDIR /data
VOLUME /data
EXPOSE 7700
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=10s --start-period=60s --retries=3 \
    CMD ["python", "-c", "import os, urllib.request as r; r.urlopen('http://127.0.0.1:' + os.environ['MNEMIC_PORT'] + '/health/ready', timeout=8)"]
ENTRYPOINT ["mnemic"]
CMD ["serve"]
