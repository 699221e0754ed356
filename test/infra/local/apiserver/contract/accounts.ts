// Makes accounts, roles and bindings for the cases about access, and waits until they are active: a real server
// applies them a moment later. Contains no case.
import { expect } from "vitest";
import { fieldsOf, textOf } from "../../../../../infra/local/apiserver/object.ts";
import { type Received, type Sent, send, type TestServer } from "../test-server.ts";

export const rbac = "/apis/rbac.authorization.k8s.io/v1";
export const authorization = "/apis/authorization.k8s.io/v1";

const deadlineMs = 15_000;
const pollMs = 50;

/** Repeats a request until `isGood` accepts the answer, or the time has passed. Returns the last answer. */
export async function sendUntil(
  server: TestServer,
  sent: Sent | (() => Sent),
  isGood: (answer: Received) => boolean,
): Promise<Received> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const answer = await send(server, typeof sent === "function" ? sent() : sent);
    if (isGood(answer) || performance.now() > deadline) return answer;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

/** Creates an object. Fails the test if the server refuses it. */
export async function create(server: TestServer, path: string, body: object): Promise<Received> {
  const answer = await send(server, { method: "POST", path, body });
  expect(answer.code, answer.text).toBe(201);
  return answer;
}

async function requestToken(server: TestServer, name: string): Promise<string> {
  const path = `/api/v1/namespaces/default/serviceaccounts/${name}/token`;
  const { body } = await create(server, path, { spec: {} });
  return textOf(fieldsOf(body["status"])["token"]);
}

/** Creates a service account in `default`. Returns its token. */
export async function createAccount(server: TestServer, name: string): Promise<string> {
  await create(server, "/api/v1/namespaces/default/serviceaccounts", { metadata: { name } });
  return await requestToken(server, name);
}

export function accountName(name: string): string {
  return `system:serviceaccount:default:${name}`;
}

/** A rule that no request needs. An access review of the rule shows whether a role is active. */
const marker = { apiGroups: ["test"], resources: ["marks"], verbs: ["see"] };

/** The content of an access review. A review has a path or a resource. */
export interface Attempt {
  verb: string;
  group?: string;
  resource?: string;
  subresource?: string;
  name?: string;
  namespace?: string;
  path?: string;
}

export function reviewOf(user: string, { path, ...attempt }: Attempt, groups: string[] = []): Sent {
  const attributes =
    path === undefined
      ? { resourceAttributes: attempt }
      : { nonResourceAttributes: { verb: attempt.verb, path } };
  return {
    method: "POST",
    path: `${authorization}/subjectaccessreviews`,
    body: { spec: { user, groups, ...attributes } },
  };
}

export async function isAllowed(server: TestServer, user: string, attempt: Attempt): Promise<boolean> {
  const { body, code, text } = await send(server, reviewOf(user, attempt));
  expect(code, text).toBe(201);
  return fieldsOf(body["status"])["allowed"] === true;
}

export interface Grant {
  rules: object[];
  subjects: object[];
  /** The namespace of a RoleBinding. Absent for a ClusterRoleBinding. */
  namespace?: string;
  /** true if the RoleBinding refers to a Role of its namespace, not to a ClusterRole. */
  ownRole?: boolean;
}

/** Creates a role and its binding, and waits until `user` has the role's rights. */
export async function grant(server: TestServer, name: string, user: string, given: Grant): Promise<void> {
  const { rules, subjects, namespace, ownRole = false } = given;
  const kind = ownRole ? "Role" : "ClusterRole";
  const home = namespace === undefined ? rbac : `${rbac}/namespaces/${namespace}`;
  const rolePath = ownRole ? `${home}/roles` : `${rbac}/clusterroles`;
  await create(server, rolePath, { metadata: { name }, rules: [...rules, marker] });
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind, name };
  const bindings = namespace === undefined ? "clusterrolebindings" : "rolebindings";
  await create(server, `${home}/${bindings}`, { metadata: { name }, roleRef, subjects });
  const seen = { verb: "see", group: "test", resource: "marks", ...(namespace && { namespace }) };
  const answer = await sendUntil(
    server,
    reviewOf(user, seen),
    ({ body }) => fieldsOf(body["status"])["allowed"] === true,
  );
  expect(answer.body["status"]).toMatchObject({ allowed: true });
}

/** Creates an account that has `rules` in all namespaces. Returns the account's token. */
export async function createGrantee(server: TestServer, name: string, rules: object[]): Promise<string> {
  const token = await createAccount(server, name);
  const subjects = [{ kind: "ServiceAccount", name, namespace: "default" }];
  await grant(server, name, accountName(name), { rules, subjects });
  return token;
}

/** Returns a rule about one resource, without verbs. */
export function ruleOf({ group, resource }: { group: string; resource: string }) {
  return { apiGroups: [group], resources: [resource] };
}
