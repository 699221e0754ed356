// What the embedded apiserver answers as a real kube-apiserver does: test/cluster/contract.test.ts asks that one the same.
import { describe } from "vitest";
import { agedServer } from "./aged-server.ts";
import { describeContract } from "./contract/describe-contract.ts";

describe("embedded apiserver", () => describeContract(agedServer));
