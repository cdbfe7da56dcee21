# syntax=docker/dockerfile:1
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
# Without scripts: npm would build before there is anything to build.
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && rm -rf dist/test dist/bench dist/mutation && npm prune --omit=dev --ignore-scripts

FROM node:24-slim
ENV NODE_ENV=production
WORKDIR /app
COPY --from=build /app/package.json /app/LICENSE ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/bin bin
COPY --from=build /app/dist dist
COPY --from=build /app/core core
COPY --from=build /app/plugins plugins
COPY --from=build /app/config config
COPY --from=build /app/dataset dataset
COPY --from=build /app/docs docs
COPY --from=build /app/templates templates
# Nothing is written: the root may be read-only, and belongs to somebody else.
USER node
EXPOSE 8080
HEALTHCHECK --interval=5s --timeout=3s --start-period=15s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/api/v1/health`).then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "bin/metro-forecast.js"]
CMD ["start"]
