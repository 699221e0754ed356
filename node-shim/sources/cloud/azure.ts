// Reads Azure's Instance Metadata Service: one document, in a version of the API without user data.
import { failure } from "../../../shared/result.ts";
import * as z from "zod/mini";
import type { CloudMetadata } from "../../../shared/protocol/facts.ts";
import { addressesOf, type CloudAddress, type CloudSource, parsedJson } from "./metadata.ts";
import { bodyOf, metadataServer, required, asResult } from "./metadata-server.ts";

const PATH = "/metadata/instance?api-version=2020-09-01&format=json";

const textOrNone = z._default(z.string(), "");
const address = z.object({ privateIpAddress: textOrNone, publicIpAddress: textOrNone });
const family = z._default(z.object({ ipAddress: z._default(z.array(address), []) }), { ipAddress: [] });
const name = z.string().check(z.minLength(1));

const documentSchema = z.object({
  compute: z.object({
    resourceId: name,
    name,
    vmSize: z.string(),
    location: z.string(),
    zone: textOrNone,
    platformFaultDomain: textOrNone,
    osProfile: z._default(z.object({ computerName: textOrNone }), { computerName: "" }),
  }),
  network: z.object({ interface: z.array(z.object({ ipv4: family, ipv6: family })).check(z.minLength(1)) }),
});
type Document = z.infer<typeof documentSchema>;

export function azureSource(baseUrl: string): CloudSource {
  return (signal) =>
    asResult(async () => {
      const ask = metadataServer(baseUrl, signal);
      const body = required(bodyOf(PATH, await ask(PATH, { headers: { metadata: "true" } })));
      return read(required(parsedJson(body, documentSchema, PATH)));
    });
}

function read({ compute, network }: Document): CloudMetadata {
  const region = compute.location.toLowerCase();
  return {
    providerID: `azure://${withLowerCaseGroup(compute.resourceId)}`,
    instanceType: compute.vmSize,
    // As in azure_zones.go, an instance outside of zones has its fault domain for a zone.
    zone: compute.zone === "" ? compute.platformFaultDomain : `${region}-${compute.zone}`.toLowerCase(),
    region,
    addresses: addresses(compute, network.interface),
  };
}

/** Returns the resource ID with its group in lower case (convertResourceGroupNameToLower), as Azure varies the case. */
function withLowerCaseGroup(resourceId: string): string {
  return resourceId.replace(
    /(\/resourceGroups\/)([^/]+)/i,
    (_, key: string, group: string) => key + group.toLowerCase(),
  );
}

/** Returns the Node's name and the addresses of the first interface, as azure_instances.go's NodeAddresses does. */
function addresses(
  { name, osProfile }: Document["compute"],
  [first]: Document["network"]["interface"],
): CloudAddress[] {
  const ips = [...(first?.ipv4.ipAddress ?? []), ...(first?.ipv6.ipAddress ?? [])];
  const found = ips.flatMap(({ privateIpAddress, publicIpAddress }) => [
    ...addressesOf("InternalIP", [privateIpAddress]),
    ...addressesOf("ExternalIP", [publicIpAddress]),
  ]);
  if (found.length === 0) return required(failure(`GET ${PATH}: it holds no IP address`));
  return [...addressesOf("Hostname", [(osProfile.computerName || name).toLowerCase()]), ...found];
}
