// Configures vitest for mutants of the shim: only the project on Node runs with them.
import { defineConfig } from "vitest/config";
import { node } from "../../../vitest.config.ts";
import { WAITING } from "./kept-worker.ts";

export default defineConfig({ test: { ...node.test, ...WAITING } });
