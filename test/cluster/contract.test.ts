// Runs the contract of test/infra/local/apiserver on a real kube-apiserver. If a case fails here, the case is
// wrong.
import { describe } from "vitest";
import { describeContract } from "../infra/local/apiserver/contract/describe-contract.ts";
import { assets, sharedServer, testServer } from "./servers.ts";

describe.skipIf(assets === "")("kube-apiserver", () =>
  describeContract(async () => testServer(await sharedServer())),
);
