# syntax=docker/dockerfile:1
FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && rm -rf dist/test dist/bench dist/tools
# Makes the optional packages (for sqlite, mcp and opentelemetry) dependencies, so that the image contains them.
RUN node -e "const fs = require('fs'); const own = require('./package.json'); for (const name of Object.keys(own.peerDependencies)) if (name !== 'fast-check') { own.dependencies[name] = own.devDependencies[name]; delete own.devDependencies[name]; } own.peerDependencies = {}; own.peerDependenciesMeta = {}; fs.writeFileSync('package.json', JSON.stringify(own));" \
  && npm prune --omit=dev --ignore-scripts

FROM node:24-slim
# A published port reaches the service only if it does not listen on the container's loopback address.
ENV NODE_ENV=production HOST=0.0.0.0
WORKDIR /app
COPY package.json LICENSE ./
COPY --from=build /app/node_modules node_modules
COPY --from=build /app/dist dist
COPY --from=build /app/core core
COPY --from=build /app/plugins plugins
COPY --from=build /app/config config
COPY --from=build /app/cli/metro-forecast.js /app/cli/build.js cli/
COPY --from=build /app/cli/templates cli/templates
COPY --from=build /app/docs docs
# The service writes only to /data, the volume for datasets and keys, so the root file system can be read-only.
RUN install -d -o node -g node /data
VOLUME /data
# The user "node". Kubernetes needs the number to verify that it is not root.
USER 1000:1000
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --start-interval=1s \
  CMD ["node", "cli/metro-forecast.js", "ready"]
ENTRYPOINT ["node", "cli/metro-forecast.js"]
CMD ["start"]
