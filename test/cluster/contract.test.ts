// Runs the cases of test/infra/local/apiserver/contract, which the embedded apiserver passes, on a real kube-apiserver.
// A case that fails here is wrong.
import { describe } from "vitest";
import { describeContract } from "../infra/local/apiserver/contract/describe-contract.ts";
import { assets, sharedServer, testServer } from "./servers.ts";

describe.skipIf(assets === "")("kube-apiserver", () =>
  describeContract(async () => testServer(await sharedServer())),
);
