// Defines a contract case, which an embedded and a real apiserver must answer alike: its type, its run, and objects
// to send. Contains no case.
import { expect } from "vitest";
import { type Received, type Sent, send, type TestServer } from "../test-server.ts";

export const nodes = "/api/v1/nodes";
export const leases = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases";
export const events = "/api/v1/namespaces/default/events";
export const accounts = "/api/v1/namespaces/default/serviceaccounts";
export const namespaces = "/api/v1/namespaces";

export function node(name: string, rest: object = {}, metadata: object = {}) {
  return { apiVersion: "v1", kind: "Node", metadata: { name, ...metadata }, ...rest };
}

export function lease(name: string, spec: object, metadata: object = {}) {
  return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name, ...metadata }, spec };
}

export const emptyNodeInfo = {
  machineID: "",
  systemUUID: "",
  bootID: "",
  kernelVersion: "",
  osImage: "",
  containerRuntimeVersion: "",
  kubeletVersion: "",
  kubeProxyVersion: "",
  operatingSystem: "",
  architecture: "",
};
export const emptyStatus = { daemonEndpoints: { kubeletEndpoint: { Port: 0 } }, nodeInfo: emptyNodeInfo };
export const notReady = { key: "node.kubernetes.io/not-ready", effect: "NoSchedule" };
export const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
export const modified =
  "the object has been modified; please apply your changes to the latest version and try again";

/**
 * A case with one answer. The requests of `before` create the situation. `request` is made from their last answer,
 * and gets the expected outcome.
 */
export interface RequestCase {
  situation: string;
  before?: (name: string) => Sent[];
  request: (name: string, last: Received) => Sent;
  /** Returns the expected parts of the answer. `name` is the name of the case's own object. */
  outcome: (name: string, last: Received) => { code: number; body?: object; text?: string; headers?: object };
}

/** A case with several answers, such as a watch. `run` sends the requests and checks the answers itself. */
export interface ScenarioCase {
  situation: string;
  run: (server: TestServer, name: string) => Promise<void>;
}

export type Case = RequestCase | ScenarioCase;

/** Returns the expected parts of an answer whose body is a Status. */
export function failure(code: number, reason: string, message: string, details?: object) {
  return {
    code,
    body: { kind: "Status", status: "Failure", code, reason, message, ...(details && { details }) },
  };
}

/** The field of a cause, and upstream's text about the field's fault. */
export type Cause = [field: string, message: string];

const reasons = new Map([
  ["Invalid", "FieldValueInvalid"],
  ["Required", "FieldValueRequired"],
  ["Forbidden", "FieldValueForbidden"],
  ["Unsupported", "FieldValueNotSupported"],
  ["Duplicate", "FieldValueDuplicate"],
  ["Too", "FieldValueTooLong"],
]);

/** Returns the expected 422 for an object of a kind ("Lease.coordination.k8s.io") with all causes, each once. */
export function invalid(qualifiedKind: string, name: string, ...causes: Cause[]) {
  const [kind = "", ...group] = qualifiedKind.split(".");
  const texts = causes.map(([field, message]) => `${field}: ${message}`);
  const all = texts.length > 1 ? `[${texts.join(", ")}]` : (texts[0] ?? "");
  return failure(422, "Invalid", `${qualifiedKind} "${name}" is invalid: ${all}`, {
    ...(name !== "" && { name }),
    ...(kind !== "" && { kind }),
    ...(group.length > 0 && { group: group.join(".") }),
    causes: causes.map(([field, message]) => ({
      reason: reasons.get(/^\w+/.exec(message)?.[0] ?? ""),
      field,
      message,
    })),
  });
}

/**
 * Returns a case whose object is refused. `sent` has the object's fields except its name, `causes` the expected
 * reasons.
 */
export function refused(
  situation: string,
  path: string,
  qualifiedKind: string,
  sent: { metadata?: object; [field: string]: unknown },
  ...causes: Cause[]
): RequestCase {
  return {
    situation,
    request: (name) => ({
      method: "POST",
      path,
      body: { ...sent, metadata: { name, ...sent.metadata } },
    }),
    outcome: (name) => invalid(qualifiedKind, name, ...causes),
  };
}

/** Returns a POST that creates an object. */
export function made(path: string, body: object): Sent {
  return { method: "POST", path, body };
}

export function created(name: string, rest: object = {}): Sent[] {
  return [{ method: "POST", path: nodes, body: node(name, rest) }];
}

export function createdLease(name: string): Sent[] {
  return [{ method: "POST", path: leases, body: lease(name, { holderIdentity: name }) }];
}

export function patched(name: string, type: string, body: unknown, subresource = ""): Sent {
  return { method: "PATCH", path: `${nodes}/${name}${subresource}`, type, body };
}

/** Runs a case. `name` must not be used by another case. */
export async function runCase(server: TestServer, each: Case, name: string): Promise<void> {
  if ("run" in each) {
    await each.run(server, name);
    return;
  }
  let last: Received = { code: 0, body: { kind: "", apiVersion: "", metadata: {} }, text: "", headers: {} };
  for (const sent of each.before?.(name) ?? []) {
    last = await send(server, sent);
    expect(last.code, last.text).toBeLessThan(300);
  }
  const answer = await send(server, each.request(name, last));
  expect(withoutRepeats(answer)).toMatchObject(each.outcome(name, last));
}

/** Returns the answer with each cause once. Releases before 1.37 list some causes several times. */
function withoutRepeats(answer: Received): Received {
  const { details } = answer.body as { details?: { causes?: object[] } };
  if (!details?.causes) return answer;
  const causes = [...new Map(details.causes.map((cause) => [JSON.stringify(cause), cause])).values()];
  return { ...answer, body: { ...answer.body, details: { ...details, causes } } };
}
