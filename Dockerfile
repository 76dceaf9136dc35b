# evenhand's light core: `docker build -t evenhand .`, then
#   docker run --rm -v "$PWD:/work" evenhand audit evenhand/reference --suite quick --report report.html
# With models of Hugging Face, on the processor: docker build --build-arg EXTRA=hf -t evenhand:hf .
FROM python:3.12-slim AS build
ARG EXTRA=""
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv /opt/evenhand
WORKDIR /source
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY src src
# PyTorch's index has wheels without CUDA; pip gets it only with an extra
RUN /opt/evenhand/bin/pip install --constraint constraints.txt \
    ${EXTRA:+--extra-index-url https://download.pytorch.org/whl/cpu} ".${EXTRA:+[$EXTRA]}"

FROM python:3.12-slim
RUN useradd --create-home --uid 1000 evenhand
COPY --from=build /opt/evenhand /opt/evenhand
ENV PATH=/opt/evenhand/bin:$PATH PYTHONUNBUFFERED=1
USER evenhand
WORKDIR /work
ENTRYPOINT ["evenhand"]
CMD ["--help"]
