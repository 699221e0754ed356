// What a user sees of the embedded controllers; test/cluster/controllers.test.ts has the real ones do the same.
import { describe } from "vitest";
import { describeControllers } from "./controllers/describe-controllers.ts";
import { embeddedCluster } from "./controllers/test-cluster.ts";

describe("embedded controllers", () => describeControllers(embeddedCluster));
