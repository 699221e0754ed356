// What runs with mutants: the project that runs in workerd, alone.
import { defineConfig } from "vitest/config";
import { workerd } from "../../../vitest.config.ts";

export default defineConfig(workerd);
