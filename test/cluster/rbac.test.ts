// Tests infra/rbac on a real kube-apiserver: rights, admission policies, and the priority of the Worker's requests.
// Also tests that the Node of any report can be written within those limits.
import { beforeAll, describe, expect } from "vitest";
import { sendUntil } from "../infra/local/apiserver/contract/accounts.ts";
import { describeRights } from "../infra/rbac/describe-rights.ts";
import { describeFlowControl } from "./rbac/flow-control-tests.ts";
import { configure, describePolicies } from "./rbac/policy-tests.ts";
import { describeReports } from "./rbac/report-tests.ts";
import { assets, breakableServer, testServer, TURN_MS } from "./servers.ts";

const NODES = "/api/v1/nodes?dryRun=All";

describe.skipIf(assets === "")("infra/rbac on a kube-apiserver", () => {
  const started = describeRights(
    async () => testServer(await breakableServer()),
    async ({ server, token }) => {
      const body = { metadata: { name: "unowned" } };
      const probe = { method: "POST", path: NODES, body, token };
      expect(await sendUntil(server, probe, ({ code }) => code === 422)).toMatchObject({ code: 422 });
    },
    TURN_MS,
  );
  describe("its policies", () => describePolicies(started));
  describe("its share of the server", () => describeFlowControl(started));
  describe("within them", () => {
    // Join tokens may allow machines without the taint and machines of any size, so the policies must allow them
    // here.
    beforeAll(async () => {
      const { server, token } = started();
      await configure(server, {
        "rollcall.dev/without-facts-only-taint": "rollcall",
        "rollcall.dev/max-capacity": null,
      });
      const metadata = { name: "m", annotations: { "rollcall.dev/owner": "rollcall" } };
      const body = { metadata, status: { capacity: { cpu: "1000" } } };
      const probe = { method: "POST", path: NODES, body, token };
      expect(await sendUntil(server, probe, ({ code }) => code === 201)).toMatchObject({ code: 201 });
    });
    describeReports(started);
  });
});
