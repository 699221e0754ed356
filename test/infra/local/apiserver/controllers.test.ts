// Tests the embedded controllers' behaviour for users. test/cluster/controllers.test.ts runs the same tests with
// the real controllers.
import { describe } from "vitest";
import { describeControllers } from "./controllers/describe-controllers.ts";
import { embeddedCluster } from "./controllers/test-cluster.ts";

describe("embedded controllers", () => describeControllers(embeddedCluster));
