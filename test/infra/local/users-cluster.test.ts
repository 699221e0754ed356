// Tests that npm start lists its objects in a user's own cluster, and removes them without changing other objects.
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { createApiserver } from "../../../infra/local/apiserver/apiserver.ts";
import { openStore } from "../../../infra/local/apiserver/store.ts";
import { ApiRefusal, type Asked, type KubeAdmin } from "../../../infra/local/kube-admin.ts";
import { allowWithoutFactsOnlyTaint, applyFile } from "../../../infra/local/kubernetes.ts";
import {
  breakageText,
  leftoverLines,
  leftovers,
  plannedLines,
  remove,
} from "../../../infra/local/users-cluster.ts";

const FILE = join(import.meta.dirname, "../../../infra/rbac/rollcall.yaml");
let joined: string[];
const OWNER = {
  deployment: "rollcall",
  machines: ["me", "sim-1"],
  joined: () => Promise.resolve(joined),
};
const TOKEN = "admin-token";
let admin: KubeAdmin;

beforeEach(() => {
  joined = [];
  const apiserver = createApiserver({
    store: openStore(":memory:"),
    adminToken: TOKEN,
    now: () => new Date("2026-01-02T03:04:05Z"),
    uuid: randomUUID,
    random: Math.random,
    after: () => () => undefined,
  });
  admin = async ({ method, path, body }: Asked) => {
    const type = method === "PATCH" ? "application/apply-patch+yaml" : "application/json";
    const headers = { authorization: `Bearer ${TOKEN}`, "content-type": type };
    const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
    const response = await apiserver.fetch(new Request(`http://127.0.0.1${path}`, init));
    const text = await response.text();
    if (!response.ok) throw new ApiRefusal(response.status, text);
    return JSON.parse(text);
  };
});

const apply = () => applyFile({ url: "", ca: undefined, admin }, FILE);
const createNode = (name: string, owner?: string) =>
  admin({
    method: "POST",
    path: "/api/v1/nodes",
    body: {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, ...(owner && { annotations: { "rollcall.dev/owner": owner } }) },
    },
  });
const nodes = async () => {
  const { items } = (await admin({ method: "GET", path: "/api/v1/nodes" })) as {
    items: { metadata: { name: string } }[];
  };
  return items.map(({ metadata }) => metadata.name);
};

describe("what new Nodes would break, before anything is applied", () => {
  it("a cloud's controller deletes them → a finding, and no Node of the dry run", async () => {
    const spec = { providerID: "aws:///eu/i-1" };
    await admin({ method: "POST", path: "/api/v1/nodes", body: { metadata: { name: "worker" }, spec } });
    expect(await breakageText(admin, 21)).toMatch(/^21 more Nodes [^]*BREAKS {2}Nodes \(aws:\/\/\)/);
    expect(await nodes()).toEqual(["worker"]);
  });

  it.each<[situation: string, admin: () => KubeAdmin]>([
    ["nothing", () => admin],
    ["an apiserver that refuses to be read", () => () => Promise.reject(new ApiRefusal(401, "{}"))],
  ])("%s → no text", async (_, of) => {
    expect(await breakageText(of(), 1)).toBeNull();
  });
});

describe("what is said before anything is applied", () => {
  it("a new cluster → each object, and none that is there", async () => {
    const lines = await plannedLines(admin, FILE);
    expect(lines).toContain("Namespace rollcall-system");
    expect(lines).toContain("ServiceAccount rollcall-system/rollcall");
    expect(lines.filter((line) => line.includes("already"))).toEqual([]);
    expect(await nodes()).toEqual([]);
  });

  it("one where it was applied before → which are there already", async () => {
    await apply();
    for (const line of await plannedLines(admin, FILE))
      expect(line).toMatch(/, which exists: changed to this checkout's version$/);
  });
});

describe("what is removed", () => {
  it("a cluster that has only what npm start put there → all of it, and then nothing is left", async () => {
    const planned = await plannedLines(admin, FILE);
    await apply();
    await allowWithoutFactsOnlyTaint(admin, "rollcall");
    await createNode("me", "rollcall");
    await createNode("sim-1", "rollcall");
    await createNode("of-a-kubelet");
    await createNode("east-1", "east");
    const found = await leftovers(admin, FILE, OWNER);
    expect(leftoverLines(found)).toEqual([
      "Node me, with its lease",
      "Node sim-1, with its lease",
      ...planned.toReversed(),
    ]);
    const gone: string[] = [];
    await remove(admin, found, (what) => gone.push(what));
    expect(gone).toEqual(["Node me", "Node sim-1", ...planned.toReversed()]);
    expect(await nodes()).toEqual(["east-1", "of-a-kubelet"]);
    expect(await leftovers(admin, FILE, OWNER)).toEqual({ nodes: [], objects: [], kept: [] });
  });

  it("what somebody else has applied as well → stays, and is named", async () => {
    await apply();
    const path = "/api/v1/namespaces/rollcall-system?fieldManager=kubectl";
    const metadata = { name: "rollcall-system", labels: { team: "edge" } };
    await admin({ method: "PATCH", path, body: { apiVersion: "v1", kind: "Namespace", metadata } });
    const found = await leftovers(admin, FILE, OWNER);
    expect(leftoverLines(found).filter((line) => line.includes("stays"))).toEqual([
      "Namespace rollcall-system stays: it was not applied by npm start alone",
    ]);
    expect(found.objects.map(({ kind }) => kind)).not.toContain("Namespace");
  });

  it("the Node of a box that joined → removed as well", async () => {
    await createNode("me", "rollcall");
    await createNode("box-1", "rollcall");
    joined = ["me", "box-1", "never-reported"];
    expect((await leftovers(admin, FILE, OWNER)).nodes).toEqual(["box-1", "me"]);
  });

  it("only Nodes of the state folder → the Worker is not asked", async () => {
    await createNode("me", "rollcall");
    const refusing = { ...OWNER, joined: () => Promise.reject(new Error("asked")) };
    expect((await leftovers(admin, FILE, refusing)).nodes).toEqual(["me"]);
  });

  it("Nodes of another Worker of the deployment → refused, and nothing is removed", async () => {
    await apply();
    await createNode("me", "rollcall");
    for (const name of ["edge-1", "edge-2", "edge-3", "edge-4"]) await createNode(name, "rollcall");
    await expect(leftovers(admin, FILE, OWNER)).rejects.toThrow(
      "4 Nodes there belong to the deployment rollcall, but to no machine of this --state (edge-1, edge-2, edge-3, …): nothing was removed",
    );
    expect(await nodes()).toContain("me");
  });
});
