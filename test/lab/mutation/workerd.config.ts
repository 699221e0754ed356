// Configures vitest for mutants of the Worker: only the project in workerd runs with them.
import { defineConfig } from "vitest/config";
import { workerd } from "../../../vitest.config.ts";

export default defineConfig(workerd);
