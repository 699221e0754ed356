// Only the project in workerd runs with mutants.
import { defineConfig } from "vitest/config";
import { workerd } from "../../../vitest.config.ts";

export default defineConfig(workerd);
