# evenhand's light core: `docker build -t evenhand .`, then
#   docker run --rm -v "$PWD:/work" evenhand audit evenhand/reference --suite quick --report report.html
# With models of Hugging Face, on the processor: docker build --build-arg EXTRA=hf -t evenhand:hf .
# `make pin-image` replaces the tag of the base image by the digest that it has at the registry. Do so for a release.
ARG BASE=python:3.12-slim
FROM ${BASE} AS build
ARG EXTRA=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/evenhand
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY licenses licenses
COPY deploy/requirements-image.txt deploy/
COPY src src
# The light core and its build backend are installed with the hashes of PyPI (`make requirements` renews them).
# An extra is installed by version only: PyTorch's index has other wheels than PyPI. pip gets that index only with an extra.
RUN /opt/evenhand/bin/pip install --require-hashes --requirement deploy/requirements-image.txt \
    && /opt/evenhand/bin/pip install --no-deps --no-build-isolation . \
    && if [ -n "$EXTRA" ]; then /opt/evenhand/bin/pip install --constraint constraints.txt \
    --extra-index-url https://download.pytorch.org/whl/cpu ".[$EXTRA]"; fi

FROM ${BASE}
RUN useradd --create-home --uid 1000 evenhand
COPY --from=build /opt/evenhand /opt/evenhand
ENV PATH=/opt/evenhand/bin:$PATH PYTHONUNBUFFERED=1
USER evenhand
WORKDIR /work
ENTRYPOINT ["evenhand"]
CMD ["--help"]
