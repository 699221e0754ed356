// Configures vitest for mutants of the shim: only the project on Node runs with them.
import { defineConfig } from "vitest/config";
import { node } from "../../../vitest.config.ts";

export default defineConfig(node);
