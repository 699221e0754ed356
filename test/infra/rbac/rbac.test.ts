// Tests infra/rbac on the embedded apiserver, which stores the policies but does not enforce them.
// test/cluster/rbac.test.ts tests them with a real apiserver.
import { describe } from "vitest";
import { agedServer } from "../local/apiserver/aged-server.ts";
import { describeRights } from "./describe-rights.ts";

describe("infra/rbac on the embedded apiserver", () => void describeRights(agedServer));
