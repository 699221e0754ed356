// Tests that the embedded apiserver answers like a real kube-apiserver. test/cluster/contract.test.ts sends the
// same requests to a real kube-apiserver.
import { describe } from "vitest";
import { agedServer } from "./aged-server.ts";
import { describeContract } from "./contract/describe-contract.ts";

describe("embedded apiserver", () => describeContract(agedServer));
