// Lists the rules for an object's metadata, which the embedded and a real apiserver must have alike: names, labels,
// annotations, finalizers, owners, managedFields.
import { type Case, type Cause, accounts, failure, invalid, made, nodes, refused } from "./case.ts";
import { badKey, badLabel, badName, badPrefix, badSubdomain, badValue, invalidValue } from "./texts.ts";

function named(situation: string, path: string, kind: string, name: string, ...causes: Cause[]): Case {
  return {
    situation,
    request: () => made(path, { metadata: { name } }),
    outcome: () => invalid(kind, name, ...causes),
  };
}

function badLabels(situation: string, labels: Record<string, string>, ...messages: string[]): Case {
  const causes = messages.map((message): Cause => ["metadata.labels", message]);
  return refused(situation, nodes, "Node", { metadata: { labels } }, ...causes);
}

const long = "a".repeat(64);
const owner = { apiVersion: "v1", kind: "Node", name: "owner", uid: "1" };
const controllers = [
  { ...owner, controller: true },
  { ...owner, name: "other", uid: "2", controller: true },
];

const names: Case[] = [
  named("a Node's name is no subdomain", nodes, "Node", "a_b", [
    "metadata.name",
    invalidValue("a_b", badSubdomain),
  ]),
  named("a name of 254 characters", nodes, "Node", "a".repeat(254), [
    "metadata.name",
    invalidValue("a".repeat(254), "must be no more than 253 characters"),
  ]),
  named("a name that could not be part of a path", nodes, "Node", "a/b", [
    "metadata.name",
    invalidValue("a/b", badSubdomain),
  ]),
  named("a namespace with dots", "/api/v1/namespaces", "Namespace", "a.b", [
    "metadata.name",
    invalidValue("a.b", "must not contain dots"),
  ]),
  named("a namespace in capitals", "/api/v1/namespaces", "Namespace", "A", [
    "metadata.name",
    invalidValue("A", badLabel),
  ]),
  named(
    "a namespace of 64 characters, which are its label too",
    "/api/v1/namespaces",
    "Namespace",
    long,
    ["metadata.name", invalidValue(long, "must be no more than 63 characters")],
    ["metadata.labels", invalidValue(long, "must be no more than 63 bytes")],
  ),
];

const labels: Case[] = [
  badLabels("a label key that starts with a dash", { "-a": "" }, invalidValue("-a", badName)),
  badLabels("a label key with a bad prefix", { "A_B/c": "" }, invalidValue("A_B/c", badPrefix)),
  badLabels(
    "a label key without a prefix before its slash",
    { "/c": "" },
    invalidValue("/c", "prefix part must be non-empty"),
  ),
  badLabels(
    "a label key without a name",
    { "a/": "" },
    invalidValue("a/", "name part must be non-empty"),
    invalidValue("a/", badName),
  ),
  badLabels("a label key with two slashes", { "a/b/c": "" }, invalidValue("a/b/c", badKey)),
  badLabels(
    "a label key of 64 characters",
    { [long]: "" },
    invalidValue(long, "name part must be no more than 63 bytes"),
  ),
  badLabels("a label value with a space", { a: "b c" }, invalidValue("b c", badValue)),
  badLabels(
    "a label value of 64 characters",
    { a: long },
    invalidValue(long, "must be no more than 63 bytes"),
  ),
];

const annotations: Case[] = [
  refused("an annotation key with a space", nodes, "Node", { metadata: { annotations: { "a b": "" } } }, [
    "metadata.annotations",
    invalidValue("a b", badName),
  ]),
  {
    situation: "annotation keys may have capitals in their prefix",
    request: (name) => made(nodes, { metadata: { name, annotations: { "A.B/c": "d" } } }),
    outcome: () => ({ code: 201, body: { metadata: { annotations: { "A.B/c": "d" } } } }),
  },
  {
    situation: "annotations of 256 KiB",
    request: (name) =>
      made(`${nodes}?dryRun=All`, { metadata: { name, annotations: { a: "x".repeat(262_143) } } }),
    outcome: () => ({ code: 201 }),
  },
  refused(
    "annotations of just over 256 KiB",
    nodes,
    "Node",
    { metadata: { annotations: { a: "x".repeat(262_144) } } },
    ["metadata.annotations", "Too long: may not be more than 262144 bytes"],
  ),
];

const references: Case[] = [
  refused("a finalizer without a domain", nodes, "Node", { metadata: { finalizers: ["bad"] } }, [
    "metadata.finalizers[0]",
    invalidValue("bad", "name is neither a standard finalizer name nor is it fully qualified"),
  ]),
  refused("two controllers", nodes, "Node", { metadata: { ownerReferences: controllers } }, [
    "metadata.ownerReferences",
    'Invalid value: [{"apiVersion":"v1","kind":"Node","name":"owner","uid":"1","controller":true},' +
      '{"apiVersion":"v1","kind":"Node","name":"other","uid":"2","controller":true}]: ' +
      'Only one reference can have Controller set to true. Found "true" in references for Node/owner and Node/other',
  ]),
  {
    situation: "the same owner twice counts once",
    request: (name) => made(nodes, { metadata: { name, ownerReferences: [owner, owner] } }),
    outcome: () => ({
      code: 201,
      body: { metadata: { ownerReferences: [owner] } },
    }),
  },
  refused(
    "a namespace on a Node is ignored, its labels are not",
    nodes,
    "Node",
    { metadata: { namespace: "x", labels: { a: "-" } } },
    ["metadata.labels", invalidValue("-", badValue)],
  ),
];

const systemFields: Case[] = [
  {
    situation: "an invalid object whose name is taken",
    before: (name) => [made(accounts, { metadata: { name } })],
    request: (name) => made(accounts, { metadata: { name, labels: { a: "-" } } }),
    outcome: (name) => invalid("ServiceAccount", name, ["metadata.labels", invalidValue("-", badValue)]),
  },
  {
    situation: "a name whose object is about to go",
    before: (name) => [
      made(accounts, { metadata: { name, finalizers: ["example.com/x"] } }),
      { method: "DELETE", path: `${accounts}/${name}` },
    ],
    request: (name) => made(accounts, { metadata: { name } }),
    outcome: (name) =>
      failure(409, "AlreadyExists", `object is being deleted: serviceaccounts "${name}" already exists`),
  },
];

export const metadataRules: Case[] = [...names, ...labels, ...annotations, ...references, ...systemFields];
