// What ConfigMaps, Secrets, ServiceAccounts and Namespaces may look like, and how they may change. Mirrors
// core/validation.
import { isJsonObject, jsonEqual, type JsonObject } from "../../../../shared/kubernetes/json.ts";
import { parseGoJson } from "../go-json.ts";
import { goKind } from "../kinds/decode-scalar.ts";
import { configMapKeyErrors, labelErrors, qualifiedNameErrors, subdomainErrors } from "../names.ts";
import { type ApiObject, fieldsOf, listOf, textOf } from "../object.ts";
import type { FieldError } from "../status.ts";
import * as field from "./field-errors.ts";
import {
  nameRule,
  validateCoreMetadata,
  validateCoreMetadataUpdate,
  validateKubeFinalizer,
} from "./metadata.ts";

const subdomain = nameRule(subdomainErrors);
const maxDataBytes = 1024 * 1024;

function bytesOf(base64: unknown): number {
  return Buffer.from(textOf(base64), "base64").length;
}

function validateKeys(path: string, data: JsonObject): FieldError[] {
  return Object.keys(data).flatMap((key) =>
    field.allInvalid(`${path}[${key}]`, key, configMapKeyErrors(key)),
  );
}

function sizeOf(data: JsonObject, bytesOfValue: (value: unknown) => number): number {
  return Object.values(data).reduce((total: number, value) => total + bytesOfValue(value), 0);
}

export function validateConfigMap(configMap: ApiObject): FieldError[] {
  const [data, binaryData] = [fieldsOf(configMap["data"]), fieldsOf(configMap["binaryData"])];
  const size = sizeOf(data, (value) => Buffer.byteLength(textOf(value))) + sizeOf(binaryData, bytesOf);
  const both = Object.keys(data).filter((key) => Object.hasOwn(binaryData, key));
  return [
    ...validateCoreMetadata(configMap.metadata, true, subdomain),
    ...validateKeys("data", data),
    ...both.map((key) => field.invalid(`data[${key}]`, key, "duplicate of key present in binaryData")),
    ...validateKeys("binaryData", binaryData),
    ...(size > maxDataBytes ? [field.tooLong("[]", maxDataBytes)] : []),
  ];
}

/** Once `immutable` is true, neither it nor the data changes. */
function validateImmutable(next: ApiObject, current: ApiObject, ...names: string[]): FieldError[] {
  if (current["immutable"] !== true) return [];
  const changed = names.filter((name) => !jsonEqual(fieldsOf(next[name]), fieldsOf(current[name])));
  const all = next["immutable"] === true ? changed : ["immutable", ...changed];
  return all.map((name) => field.forbidden(name, "field is immutable when `immutable` is set"));
}

export function validateConfigMapUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  return [
    ...validateCoreMetadataUpdate(next.metadata, current.metadata),
    ...validateImmutable(next, current, "data", "binaryData"),
    ...validateConfigMap(next),
  ];
}

const accountNameAnnotation = "kubernetes.io/service-account.name";

/** Go's json.Unmarshal into a map: its error, for what a secret may hold. */
function jsonError(base64: unknown): string | undefined {
  const text = Buffer.from(textOf(base64), "base64").toString("utf8");
  const parsed = parseGoJson(text, false);
  if ("error" in parsed) return parsed.error;
  if (parsed.value === null || isJsonObject(parsed.value)) return undefined;
  return `json: cannot unmarshal ${goKind(parsed.value)} into Go value of type map[string]interface {}`;
}

function validateDockerConfig(data: JsonObject, key: string): FieldError[] {
  const path = `data[${key}]`;
  if (!Object.hasOwn(data, key)) return [field.required(path)];
  const error = jsonError(data[key]);
  return error === undefined ? [] : [field.invalid(path, "<secret contents redacted>", error)];
}

/** What a secret of a well-known type must have. */
function validateSecretType(secret: ApiObject, data: JsonObject): FieldError[] {
  const missing = (...keys: string[]) =>
    keys.filter((key) => !Object.hasOwn(data, key)).map((key) => field.required(`data[${key}]`));
  switch (secret["type"]) {
    case "kubernetes.io/service-account-token":
      if (secret.metadata.annotations?.[accountNameAnnotation]) return [];
      return [field.required(`metadata.annotations[${accountNameAnnotation}]`)];
    case "kubernetes.io/dockercfg":
      return validateDockerConfig(data, ".dockercfg");
    case "kubernetes.io/dockerconfigjson":
      return validateDockerConfig(data, ".dockerconfigjson");
    case "kubernetes.io/basic-auth": {
      const errors = missing("username", "password");
      return errors.length === 2 ? errors : [];
    }
    case "kubernetes.io/ssh-auth":
      return data["ssh-privatekey"] ? [] : [field.required("data[ssh-privatekey]")];
    case "kubernetes.io/tls":
      return missing("tls.crt", "tls.key");
    default:
      return [];
  }
}

export function validateSecret(secret: ApiObject): FieldError[] {
  const data = fieldsOf(secret["data"]);
  return [
    ...validateCoreMetadata(secret.metadata, true, subdomain),
    ...validateKeys("data", data),
    ...(sizeOf(data, bytesOf) > maxDataBytes ? [field.tooLong("data", maxDataBytes)] : []),
    ...validateSecretType(secret, data),
  ];
}

export function validateSecretUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  return [
    ...validateCoreMetadataUpdate(next.metadata, current.metadata),
    ...(next["type"] === current["type"] ? [] : [field.invalid("type", next["type"], field.immutableText)]),
    ...validateImmutable(next, current, "data"),
    ...validateSecret(next),
  ];
}

export function validateServiceAccount(account: ApiObject): FieldError[] {
  return validateCoreMetadata(account.metadata, true, subdomain);
}

export function validateServiceAccountUpdate(next: ApiObject, current: ApiObject): FieldError[] {
  return [...validateCoreMetadataUpdate(next.metadata, current.metadata), ...validateServiceAccount(next)];
}

function validateFinalizer(path: string, name: string): FieldError[] {
  return [...field.allInvalid(path, name, qualifiedNameErrors(name)), ...validateKubeFinalizer(path, name)];
}

function specFinalizers(namespace: ApiObject): string[] {
  return listOf(fieldsOf(namespace["spec"])["finalizers"]).map(textOf);
}

export function validateNamespace(namespace: ApiObject): FieldError[] {
  return [
    ...validateCoreMetadata(namespace.metadata, false, nameRule(labelErrors)),
    ...specFinalizers(namespace).flatMap((name) => validateFinalizer("spec.finalizers", name)),
  ];
}

function validateNamespacePhase(namespace: ApiObject): FieldError[] {
  const { phase } = fieldsOf(namespace["status"]);
  const isDeleted = namespace.metadata.deletionTimestamp !== undefined;
  const wanted = isDeleted ? "Terminating" : "Active";
  if (phase === wanted) return [];
  const when = isDeleted ? "is not empty" : "is empty";
  return [field.invalid("status.Phase", phase, `may only be '${wanted}' if \`deletionTimestamp\` ${when}`)];
}

/** ValidateNamespaceUpdate, ValidateNamespaceStatusUpdate and ValidateNamespaceFinalizeUpdate */
export function validateNamespaceUpdate(
  next: ApiObject,
  current: ApiObject,
  subresource: string,
): FieldError[] {
  const metadata = validateCoreMetadataUpdate(next.metadata, current.metadata);
  if (subresource === "status") return [...metadata, ...validateNamespacePhase(next)];
  if (subresource === "") return [...validateNamespace(next), ...metadata];
  const finalizers = specFinalizers(next).flatMap((name, index) =>
    validateFinalizer(`spec.finalizers[${index}]`, name),
  );
  return [...metadata, ...finalizers];
}
