// Tests which requests the admission policies of infra/rbac refuse and accept, on a server that enforces them. For
// each rule a copy of its policy without that rule shows that the rule alone refuses its cases.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { create, rbac, sendUntil } from "../../infra/local/apiserver/contract/accounts.ts";
import { type Received, type Sent, send, type TestServer } from "../../infra/local/apiserver/test-server.ts";
import { accepted, configuration, fixtures, refused } from "./policy-cases.ts";

const policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const bindings = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const accounts = "system:serviceaccounts:rollcall-system";
const namespace = "rollcall-system";

interface Validation {
  message?: string;
  messageExpression?: string;
}
interface Policy {
  kind: string;
  metadata: { name: string };
  spec: { validations: Validation[]; policyName?: string; paramRef?: object };
}

const documents = parseAllDocuments(
  readFileSync(resolve(import.meta.dirname, "../../../infra/rbac/rollcall.yaml"), "utf8"),
);
const installed = documents.map((document) => document.toJS() as Policy);
/** Returns the reference to the parameters in a policy's binding. */
const paramRefOf = (policy: string) =>
  installed.find(({ spec }) => spec?.policyName === policy)?.spec.paramRef;
const rules = installed
  .filter(({ kind }) => kind === "ValidatingAdmissionPolicy")
  .flatMap((policy) =>
    policy.spec.validations.map((validation, index) => ({
      policy,
      validation,
      says: validation.message ?? validation.messageExpression ?? "",
      /** The name of the policy's copy that lacks this rule, and of the namespace where that copy is tested. */
      copy: `${policy.metadata.name}-without-${index}`,
    })),
  );
type Rule = (typeof rules)[number];

/**
 * Annotates the namespace as an operator does; null removes an annotation. The policies apply the change a moment
 * later.
 */
export async function configure(
  server: TestServer,
  annotations: Record<string, string | null>,
): Promise<void> {
  const path = `/api/v1/namespaces/${namespace}`;
  const answer = await send(server, {
    method: "PATCH",
    path,
    type: "strategic",
    body: { metadata: { annotations } },
  });
  expect(answer.code, answer.text).toBe(200);
}

const isRefused = ({ code, text }: Received) => code >= 400 && text.includes("ValidatingAdmissionPolicy");

/** Defines the tests. `started`: a server with infra/rbac, and a token of the account `rollcall`. */
export function describePolicies(started: () => { server: TestServer; token: string }): void {
  const found = new Map<string, Received["body"]>();
  const dryRun = ({ path, ...sent }: Sent): Sent => {
    return { ...sent, path: `${path}${path.includes("?") ? "&" : "?"}dryRun=All` };
  };
  const sentBy = (make: (typeof accepted)[number][1]) => dryRun(make((path) => found.get(path) as never));
  const asAccount = (sent: Sent): Sent => ({ ...sent, token: started().token });
  /**
   * Returns the request as another account with equal rights sends it: the account `rollcall` of the namespace
   * `home`.
   */
  const asOneOf = (home: string, sent: Sent): Sent => ({
    ...sent,
    path: sent.path.replaceAll(`/namespaces/${namespace}/`, `/namespaces/${home}/`),
    headers: { "impersonate-user": `system:serviceaccount:${home}:rollcall`, "impersonate-group": accounts },
  });

  beforeAll(async () => {
    const { server } = started();
    await configure(server, configuration);
    for (const { path, body } of fixtures) {
      const made = await create(server, path, body);
      found.set(`${path}/${body.metadata.name}`, made.body);
    }
    // The accounts get rights to all leases here, so that only the policy can refuse a lease.
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "admin-of-leases" };
    const leases = { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["*"] };
    await create(server, `${rbac}/clusterroles`, { metadata: { name: roleRef.name }, rules: [leases] });
    const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "Group", name: accounts }];
    const binding = { metadata: { name: roleRef.name }, roleRef, subjects };
    const asksForTokens = { ...roleRef, name: "asks-for-tokens" };
    const asking = { apiGroups: [""], resources: ["serviceaccounts/token"], verbs: ["create"] };
    await create(server, `${rbac}/clusterroles`, { metadata: { name: asksForTokens.name }, rules: [asking] });
    await create(server, `${rbac}/namespaces/default/rolebindings`, binding);
    for (const { policy, copy } of rules) {
      if (policy.metadata.name !== "rollcall-tokens") continue;
      // The accounts of a copy send their requests in the copy's own namespace.
      await create(server, "/api/v1/namespaces", { metadata: { name: copy } });
      for (const name of ["rollcall", "east"])
        for (const kind of ["serviceaccounts", "secrets"])
          await create(server, `/api/v1/namespaces/${copy}/${kind}`, { metadata: { name } });
      const bound = { metadata: { name: "rollcall" }, subjects, roleRef: asksForTokens };
      await create(server, `${rbac}/namespaces/${copy}/rolebindings`, bound);
    }
    for (const { policy, validation, copy } of rules) {
      const validations = policy.spec.validations.filter((each) => each !== validation);
      const spec = JSON.parse(JSON.stringify({ ...policy.spec, validations }).replaceAll(namespace, copy));
      await create(server, policies, { metadata: { name: copy }, spec });
      const paramRef = paramRefOf(policy.metadata.name);
      const bound = { policyName: copy, validationActions: ["Deny"], ...(paramRef && { paramRef }) };
      await create(server, bindings, { metadata: { name: copy }, spec: bound });
    }
  });

  const refusals = Object.values(refused).flat();
  test.each(refusals)("%s…: it may not %s", async (rule, _, make) => {
    const answer = await sendUntil(started().server, asAccount(sentBy(make)), isRefused);
    expect([403, 422]).toContain(answer.code);
    expect(answer.text).toContain(rule);
  });

  test.each(accepted)("it may %s", async (_, make) => {
    const answer = await send(started().server, asAccount(sentBy(make)));
    expect([200, 201], answer.text).toContain(answer.code);
  });

  test("each message belongs to one rule, and each rule has a case", () => {
    const casesOf = ({ says }: Rule) => refusals.filter(([rule]) => says.includes(rule));
    expect(rules.filter((rule) => casesOf(rule).length === 0)).toEqual([]);
    expect(rules.flatMap(casesOf)).toHaveLength(refusals.length);
  });

  describe.each(rules)("without the rule: $says", ({ policy, says, copy }) => {
    const cases = refused[policy.metadata.name] ?? [];
    test("one of its cases is allowed, and one of another rule is refused", async () => {
      const { server } = started();
      const [rule, , make] = cases.find(([of]) => !says.includes(of))!;
      const other = await sendUntil(server, asOneOf(copy, sentBy(make)), isRefused);
      expect(other.text).toContain(rule);
      const answers = await Promise.all(
        cases
          .filter(([of]) => says.includes(of))
          .map(([, , own]) => send(server, asOneOf(copy, sentBy(own)))),
      );
      expect(answers.map(({ code }) => code).filter((code) => code < 300)).not.toEqual([]);
    });
  });

  test("an account of the namespace is a deployment of its name: it writes its own Nodes, and not another's", async () => {
    const asEast = (sent: Sent) => {
      const headers = {
        "impersonate-user": `system:serviceaccount:${namespace}:east`,
        "impersonate-group": accounts,
      };
      return send(started().server, dryRun({ ...sent, headers, method: "PATCH", type: "strategic" }));
    };
    const body = { metadata: { labels: { a: "b" } } };
    expect(await asEast({ path: "/api/v1/nodes/easts", body })).toMatchObject({ code: 200 });
    expect(isRefused(await asEast({ path: "/api/v1/nodes/mine", body }))).toBe(true);
  });

  describe("decisions of the cluster's operator", () => {
    const MAX = "rollcall.dev/max-capacity";
    const isAccepted = ({ code }: Received) => code < 300;
    const without = (owner: string) => ({
      metadata: { name: "new", annotations: { "rollcall.dev/owner": owner } },
      spec: { taints: [{ key: "example.com/other", effect: "NoSchedule" }] },
    });
    const large = {
      metadata: without("rollcall").metadata,
      spec: { taints: [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }] },
      status: { capacity: { cpu: "1000" } },
    };
    const creation = (body: object) => dryRun({ method: "POST", path: "/api/v1/nodes", body });
    const label = dryRun({
      method: "PATCH",
      path: "/api/v1/nodes/mine/status",
      type: "strategic",
      body: { metadata: { labels: { a: "b" } } },
    });

    test.each(["east", "west"])("%s may go without the facts-only taint", async (deployment) => {
      const headers = {
        "impersonate-user": `system:serviceaccount:${namespace}:${deployment}`,
        "impersonate-group": accounts,
      };
      const sent = { ...creation(without(deployment)), headers };
      expect(await sendUntil(started().server, sent, isAccepted)).toMatchObject({ code: 201 });
    });

    const tainted = [{ key: "rollcall.dev/facts-only", effect: "NoSchedule" }];
    const MASTER = { "node-role.kubernetes.io/master": "" };
    test.each([
      ["a deployment that topology hints pass over → the role master", "west", tainted, MASTER, 201],
      ["the same, of a Node for pods → refused", "west", [], MASTER, 422],
      [
        "one from which no labels are required → those of an earlier Worker",
        "east",
        tainted,
        { "kubernetes.io/hostname": "a" },
        201,
      ],
      [
        "one of which they are asked, of a Node for pods → a kubelet's",
        "east",
        [],
        { "kubernetes.io/hostname": "a" },
        201,
      ],
    ])("%s", async (_, deployment, taints, labels, code) => {
      const { metadata } = without(deployment);
      const headers = {
        "impersonate-user": `system:serviceaccount:${namespace}:${deployment}`,
        "impersonate-group": accounts,
      };
      const sent = { ...creation({ metadata: { ...metadata, labels }, spec: { taints } }), headers };
      const answer = await sendUntil(started().server, sent, (received) => received.code === code);
      expect(answer.code, answer.text).toBe(code);
    });

    interface Taint {
      key: string;
      effect: string;
    }
    const of = (key: string): Taint => ({ key, effect: "NoExecute" });
    const adding = (key: string) => (taints: Taint[]) => [...taints, of(key)];
    const removing = (key: string) => (taints: Taint[]) => taints.filter((taint) => taint.key !== key);
    test.each<[string, (taints: Taint[]) => Taint[], number]>([
      ["adds one of NFD's namespace", adding("feature.node.kubernetes.io/gpu"), 200],
      ["adds one of a namespace of its own", adding("example.com/gpu"), 200],
      ["removes one", removing("example.com/other"), 200],
      ["removes facts-only → refused", removing("rollcall.dev/facts-only"), 403],
      ["removes one of Kubernetes → refused", removing("node.kubernetes.io/down"), 403],
      ["adds one of Kubernetes → refused", adding("node.kubernetes.io/x"), 403],
      ["adds one of rollcall → refused", adding("x.rollcall.dev/x"), 403],
    ])("a deployment whose rules may change taints %s", async (_, change, code) => {
      const headers = {
        "impersonate-user": `system:serviceaccount:${namespace}:east`,
        "impersonate-group": accounts,
      };
      const path = "/api/v1/nodes/easts";
      const easts = found.get(path) as unknown as { spec: { taints: Taint[] } };
      const body = { spec: { taints: change(easts.spec.taints) } };
      const patch = dryRun({ method: "PATCH", path, type: "strategic", body });
      const isOver = (received: Received) => received.code === code;
      const answer = await sendUntil(started().server, { ...patch, headers }, isOver);
      expect(answer.code, answer.text).toBe(code);
    });

    test("a deployment that topology hints pass over → takes the role from a Node whose taint is gone", async () => {
      const headers = {
        "impersonate-user": `system:serviceaccount:${namespace}:west`,
        "impersonate-group": accounts,
      };
      const body = { metadata: { labels: { "node-role.kubernetes.io/master": null } } };
      const patch = dryRun({ method: "PATCH", path: "/api/v1/nodes/wests", type: "strategic", body });
      const sent = { ...patch, headers };
      const answer = await sendUntil(started().server, sent, isAccepted);
      expect(answer.code, answer.text).toBe(200);
    });

    test.each([
      ["a resource without an amount", "cpu=4,memory", "memory is not a resource and its most"],
      ["an amount that is none", "cpu=four", "cpu=four is not a resource and its most"],
      ["two amounts", "cpu=4=5", "cpu=4=5 is not a resource and its most"],
    ])("an unreadable bound (%s) → every write is refused with that message", async (_, text, fault) => {
      const { server } = started();
      await configure(server, { [MAX]: text });
      const isSaid = ({ text: said }: Received) => said.includes(fault);
      const answer = await sendUntil(server, asAccount(label), isSaid);
      expect(answer).toMatchObject({ code: 422 });
      expect(answer.text).toContain("the annotation rollcall.dev/max-capacity of the namespace");
      await configure(server, { [MAX]: configuration[MAX] });
      expect(await sendUntil(server, asAccount(label), isAccepted)).toMatchObject({ code: 200 });
    });

    test("the file is applied again → the operator's decisions stay", async () => {
      const { server } = started();
      const path = `/api/v1/namespaces/${namespace}`;
      const body = installed.find(({ kind }) => kind === "Namespace")!;
      await send(server, { method: "PATCH", path: `${path}?fieldManager=test`, type: "apply", body });
      const { body: after } = await send(server, { path });
      expect(after).toMatchObject({ metadata: { annotations: configuration } });
    });

    test.each([null, ""])("no bound (%o) → a Node of any size", async (none) => {
      const { server } = started();
      await configure(server, { [MAX]: none });
      const answer = await sendUntil(server, asAccount(creation(large)), isAccepted);
      expect(answer.code, answer.text).toBe(201);
      await configure(server, { [MAX]: configuration[MAX] });
      const bounded = await sendUntil(server, asAccount(creation(large)), isRefused);
      expect(bounded.text).toContain("at most cpu=4 by the annotation");
    });
  });
}
