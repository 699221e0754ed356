// Reads Google Cloud's instance metadata by single values, since the whole tree also has start-up scripts and keys.
import { failure } from "../../../shared/result.ts";
import * as z from "zod/mini";
import type { CloudMetadata } from "../../../shared/protocol/facts.ts";
import { addressesOf, type CloudAddress, type CloudSource, parsedJson } from "./metadata.ts";
import { bodyOf, metadataServer, optionalBodyOf, required, asResult } from "./metadata-server.ts";

const METADATA = "/computeMetadata/v1/";
/** The Metadata-Flavor header's value. The metadata server requires it, and answers with it as proof of origin. */
const FLAVOR = "Google";

const textOrNone = z._default(z.string(), "");
const interfacesSchema = z.array(
  z.object({
    ip: textOrNone,
    accessConfigs: z._default(z.array(z.object({ externalIp: textOrNone })), []),
  }),
);

type Get = (path: string, wish?: "optional") => Promise<string>;

export function gceSource(baseUrl: string): CloudSource {
  return (signal) => {
    const ask = metadataServer(baseUrl, signal);
    const get: Get = async (name, wish) => {
      const path = METADATA + name;
      const answer = await ask(path, { headers: { "metadata-flavor": FLAVOR } });
      if (answer.ok && answer.value.headers["metadata-flavor"] !== FLAVOR)
        return required(failure(`GET ${path}: the answer is not of a metadata server of Google Cloud`));
      return required(wish === "optional" ? optionalBodyOf(path, answer) : bodyOf(path, answer));
    };
    return asResult(() => read(get));
  };
}

async function read(get: Get): Promise<CloudMetadata> {
  const project = await get("project/project-id");
  const zone = lastSegment(await get("instance/zone"));
  return {
    providerID: `gce://${project}/${zone}/${await get("instance/name")}`,
    instanceType: lastSegment(await get("instance/machine-type")),
    zone,
    // The region is the zone without its last part, as in GetGCERegion: europe-west1-b is in europe-west1.
    region: zone.slice(0, Math.max(0, zone.lastIndexOf("-"))),
    addresses: await addresses(get),
  };
}

/** Returns `europe-west1-b` for `projects/123/zones/europe-west1-b`. */
function lastSegment(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

/** Returns the Node's addresses as gce_instances.go's NodeAddresses does. */
async function addresses(get: Get): Promise<CloudAddress[]> {
  const path = "instance/network-interfaces/?recursive=true";
  const interfaces = required(parsedJson(await get(path), interfacesSchema, path));
  const ips = interfaces.flatMap(({ ip, accessConfigs }) => [
    ...addressesOf("InternalIP", [ip]),
    ...addressesOf(
      "ExternalIP",
      accessConfigs.map(({ externalIp }) => externalIp),
    ),
  ]);
  const hostname = [await get("instance/hostname", "optional")];
  return [...ips, ...addressesOf("InternalDNS", hostname), ...addressesOf("Hostname", hostname)];
}
