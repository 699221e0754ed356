// What a cluster has of infra/cloudflare, the way by which Workers reach its apiserver: by the label that all of it carries, and
// what else keeps its namespace. Removes nothing.
import { type Result, success } from "../../../shared/result.ts";
import type { Kubectl } from "./kubectl.ts";
import { linesOf, list, type ObjectGroup } from "./object-group.ts";

export const WAY_NAMESPACE = "rollcall-way";
const NAMESPACE = `namespace/${WAY_NAMESPACE}`;
const LABEL = "app.kubernetes.io/part-of";
/** docs/apiserver.md has operators make them, from what may be in no file: they carry no label. */
const SECRETS = new Set(["secret/cloudflared-credentials", "secret/apiserver-proxy-tls"]);
/** Kubernetes puts them into every namespace. */
const OF_EVERY_NAMESPACE = new Set(["serviceaccount/default", "configmap/kube-root-ca.crt"]);
/** Made of others, without an owner that says so. */
const DERIVED_KINDS = new Set(["endpoints", "events", "events.events.k8s.io"]);

export interface FoundWay {
  /** In the order in which they go: the namespace last. */
  groups: ObjectGroup[];
  /** What stays, and for whom. */
  stays: string | null;
}

const NONE: FoundWay = { groups: [], stays: null };

interface WayObject {
  name: string;
  isOurs: boolean;
  /** A pod of a Deployment. */
  isOwned: boolean;
}

/** `others`: deployments that may come by the same way. The error: kubectl's. */
export async function findWay(kubectl: Kubectl, others: readonly string[]): Promise<Result<FoundWay>> {
  const namespaces = await objects(kubectl, [
    "namespaces",
    `--field-selector=metadata.name=${WAY_NAMESPACE}`,
  ]);
  if (!namespaces.ok) return namespaces;
  const [namespace] = namespaces.value;
  if (namespace === undefined) return success(NONE);
  if (others.length > 0)
    return success({ groups: [], stays: `${NAMESPACE} stays: ${others.join(", ")} may come that way` });
  if (!namespace.isOurs)
    return success({
      groups: [],
      stays: `${NAMESPACE} stays: without the label ${LABEL}=rollcall it is not infra/cloudflare's`,
    });
  const inside = await objectsInside(kubectl);
  if (!inside.ok) return inside;
  const isOurs = ({ name, isOurs }: WayObject) => isOurs || SECRETS.has(name);
  const ours = inside.value.filter(isOurs).map(({ name }) => name);
  const foreign = inside.value.filter((each) => !isOurs(each)).map(({ name }) => name);
  const whole: ObjectGroup[] = foreign.length > 0 ? [] : [{ namespace: null, names: [NAMESPACE] }];
  return success({
    groups: [...(ours.length > 0 ? [{ namespace: WAY_NAMESPACE, names: ours }] : []), ...whole],
    stays: foreign.length > 0 ? `${NAMESPACE} stays: not rollcall's are ${foreign.join(", ")}` : null,
  });
}

/** Of every kind that may be removed: a namespace takes along what nobody has looked for. */
async function objectsInside(kubectl: Kubectl): Promise<Result<WayObject[]>> {
  const said = await kubectl(["api-resources", "--namespaced", "--verbs=list,delete", "-o", "name"]);
  if (!said.ok) return said;
  const kinds = linesOf(said.value).filter((kind) => !DERIVED_KINDS.has(kind));
  const found = await objects(kubectl, [kinds.join(","), "-n", WAY_NAMESPACE]);
  if (!found.ok) return found;
  return success(found.value.filter(({ name, isOwned }) => !isOwned && !OF_EVERY_NAMESPACE.has(name)));
}

const FIELDS = [
  ".apiVersion",
  ".kind",
  ".metadata.name",
  `.metadata.labels.${LABEL.replaceAll(".", "\\.")}`,
  ".metadata.ownerReferences[*].kind",
];
const LINES = `jsonpath={range .items[*]}${FIELDS.map((field) => `{${field}}`).join('{"\\t"}')}{"\\n"}{end}`;

async function objects(kubectl: Kubectl, what: readonly string[]): Promise<Result<WayObject[]>> {
  const lines = await list(kubectl, [...what, "-o", LINES]);
  return lines.ok ? success(lines.value.map(wayObject)) : lines;
}

function wayObject(line: string): WayObject {
  const [apiVersion = "", kind = "", name = "", partOf = "", owners = ""] = line.split("\t");
  const group = apiVersion.includes("/") ? `.${apiVersion.split("/")[0]}` : "";
  return {
    name: `${kind.toLowerCase()}${group}/${name}`,
    isOurs: partOf === "rollcall",
    isOwned: owners !== "",
  };
}
