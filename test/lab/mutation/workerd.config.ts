// Configures vitest for mutants of the Worker: only the project in workerd runs with them.
import { defineConfig, type Plugin } from "vitest/config";
import { workerd } from "../../../vitest.config.ts";
import { keeping, WAITING } from "./kept-worker.ts";

const oneWorkerd: Plugin = {
  name: "one-workerd",
  configureVitest({ project: { config } }) {
    if (config.poolRunner) config.poolRunner = keeping(config.poolRunner);
  },
};

export default defineConfig({
  ...workerd,
  plugins: [...(workerd.plugins ?? []), oneWorkerd],
  test: { ...workerd.test, ...WAITING },
});
