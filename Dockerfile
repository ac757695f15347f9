# The bot's folder is mounted at /bot (read-only), its store lies in the volume /data: nothing else is written. For several
# machines, which all need the same bot, the stage `with-flows` has it in the image (examples/several-machines).
FROM python:3.12-slim AS build
WORKDIR /src
COPY pyproject.toml setup.py README.md LICENSE ./
COPY requirements ./requirements
COPY bot ./bot
COPY docs/checks ./docs/checks
ARG LOCK=bot
RUN pip install --no-cache-dir --require-hashes -r requirements/build.txt \
 && pip install --no-cache-dir --prefix=/installed --require-hashes -r "requirements/$LOCK.txt" \
 && pip install --no-cache-dir --prefix=/installed --no-deps --no-build-isolation .

FROM python:3.12-slim AS bot
COPY --from=build /installed /usr/local
RUN groupadd --gid 10001 bot \
 && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin bot \
 && install --directory --owner=bot --group=bot --mode=0700 /data /bot
ENV BOT_STORE=/data/bot.db BOT_HOST=0.0.0.0 BOT_PORT=8000 PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /bot
VOLUME /data
EXPOSE 8000
USER 10001:10001
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=6s --start-period=20s --retries=3 \
  CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/readyz', timeout=5)"]
ENTRYPOINT ["bot"]
CMD ["serve", "/bot"]

FROM bot AS with-flows
ARG BOT_FOLDER=flows
COPY --chown=10001:10001 ${BOT_FOLDER} /bot

FROM bot
