// Before each file and each test in workerd: time stands still, in a year that no alarm of an object reaches by itself.
import { beforeEach } from "vitest";
import { stopClock } from "./clock.ts";

const START_MS = Date.UTC(2100, 0, 1);
stopClock(START_MS);
beforeEach(() => stopClock(START_MS));
