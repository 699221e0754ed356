// Draws the machine's facts, addresses, resources and images, from its facts, its summary and its Node.
import type { Facts } from "../../../shared/protocol/facts.ts";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { bytesText, quantityWords } from "../base/amounts.ts";
import { Pairs } from "../parts/pairs.tsx";
import { type Column, DataTable } from "../parts/table.tsx";
import { Fold, Nothing, Section } from "./section.tsx";

export function FactsSection({ whole }: { whole: WholeNode }) {
  const rows = factRows(whole);
  const addresses = addressRows(whole);
  const images = imageRows(whole);
  return (
    <Section id="facts">
      {rows.length === 0 ? (
        <Nothing>Nothing yet: they come with its first accepted report.</Nothing>
      ) : (
        <Pairs pairs={rows} />
      )}
      {addresses.length > 0 && (
        <>
          <h3>Addresses</h3>
          <Pairs pairs={addresses} />
        </>
      )}
      <Resources whole={whole} />
      {images.length > 0 && (
        <Fold
          title={`Images: ${images.length}, ${bytesText(images.reduce((sum, { bytes }) => sum + bytes, 0))}`}
        >
          <ul class="machine-images">
            {images.map(({ name, bytes }) => (
              <li key={name} class="row spread">
                <span class="mono">{name}</span>
                <span class="quiet">{bytesText(bytes)}</span>
              </li>
            ))}
          </ul>
        </Fold>
      )}
    </Section>
  );
}

const RESOURCES: readonly Column<ResourceRow>[] = [
  { head: "Resource", isRowHead: true, cell: ({ resource }) => resource },
  { head: "Capacity", class: "number", cell: ({ capacity }) => capacity },
  {
    head: "Allocatable",
    hint: "What a kubelet would let pods have of it; the Node has 0 if it runs none",
    class: "number",
    cell: ({ allocatable }) => allocatable,
  },
];

function Resources({ whole }: { whole: WholeNode }) {
  const rows = resourceRows(whole);
  if (rows.length === 0) return null;
  return (
    <>
      <h3>Resources</h3>
      <DataTable
        label="Resources"
        class="machine-resources"
        rows={rows}
        columns={RESOURCES}
        keyOf={({ resource }) => resource}
        narrow="scrolls"
      />
      {rows.every(({ allocatable }) => /^0\b/.test(allocatable)) && (
        <p class="quiet">Nothing is allocatable: the Node runs no pods.</p>
      )}
    </>
  );
}

interface ShownNodeObject {
  metadata?: {
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    uid?: string;
    creationTimestamp?: string;
  };
  spec?: {
    taints?: { key: string; value?: string; effect: string }[];
    podCIDRs?: string[];
    providerID?: string;
  };
  status?: {
    capacity?: Record<string, string>;
    allocatable?: Record<string, string>;
    addresses?: { type: string; address: string }[];
    images?: { names?: string[]; sizeBytes?: number }[];
    nodeInfo?: Partial<Record<string, string>>;
  };
}

export const shownNodeOf = (whole: Pick<WholeNode, "node">): ShownNodeObject => whole.node ?? {};

type FactRow = readonly [name: string, text: string];

/** Returns the rows of facts that have a value. */
export function factRows(whole: WholeNode): FactRow[] {
  const facts = (whole.facts ?? {}) as Partial<Facts>;
  const { machine, inventory, versions, runtime, platform, cloud, cgroups, settings } = facts;
  const known = whole.summary?.versions;
  const cpu = inventory?.cpu;
  const { spec } = shownNodeOf(whole);
  const rows: [string, string | number | undefined | false][] = [
    [
      "CPU",
      words(
        machine?.cores && `${machine.cores} cores`,
        cpu && words(cpu.sockets && cpu.sockets > 1 && `${cpu.sockets} ×`, cpu.vendor, cpu.model),
      ),
    ],
    ["Memory", machine && bytesText(machine.memoryBytes)],
    ["Swap", machine && (machine.swapBytes > 0 ? bytesText(machine.swapBytes) : "none")],
    ["Operating system", versions?.osImage ?? known?.os],
    ["Kernel", versions?.kernel ?? known?.kernel],
    ["Architecture", platform ? `${platform.os}/${platform.architecture}` : known?.architecture],
    [
      "Container runtime",
      runtime ? `${runtime.name} ${runtime.version}` : runtime === null ? "none" : known?.runtime,
    ],
    ["cgroups", cgroups?.version && `v${cgroups.version}`],
    ["Shim", versions?.shim ?? known?.shim],
    ["Boot ID", machine?.bootID ?? whole.summary?.boot],
    ["Hostname", settings?.hostname],
    ["Provider ID", spec?.providerID ?? cloud?.providerID],
    ["Instance", cloud && words(cloud.instanceType, cloud.zone)],
    ["Pod CIDRs", spec?.podCIDRs?.join(", ")],
    ["Reports from", whole.summary?.address],
    ["Reports by", whole.transport],
  ];
  return rows.flatMap(([name, text]): FactRow[] => (text ? [[name, String(text)]] : []));
}

const words = (...parts: (string | number | false | undefined)[]): string => parts.filter(Boolean).join(" ");

export function addressRows(whole: WholeNode): FactRow[] {
  const addresses = shownNodeOf(whole).status?.addresses ?? whole.summary?.addresses ?? [];
  return addresses.map(({ type, address }) => [type, address]);
}

interface ResourceRow {
  resource: string;
  capacity: string;
  allocatable: string;
}

/** Returns the rows of resources: first those of every Node, then others by name. "–" is a missing value. */
export function resourceRows(whole: WholeNode): ResourceRow[] {
  const { capacity = whole.summary?.capacity ?? {}, ...ofNode } = shownNodeOf(whole).status ?? {};
  const allocatable = whole.allocatable ?? ofNode.allocatable ?? {};
  const names = new Set([...Object.keys(capacity), ...Object.keys(allocatable)]);
  const rank = (name: string) => FIRST.indexOf(name) + 1 || FIRST.length + 1;
  return [...names]
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .filter((resource) => !(resource.startsWith("hugepages-") && capacity[resource] === "0"))
    .map((resource) => ({
      resource,
      capacity: quantityText(resource, capacity[resource]),
      allocatable: quantityText(resource, allocatable[resource]),
    }));
}

const FIRST = ["cpu", "memory", "ephemeral-storage", "pods"];
const quantityText = (resource: string, quantity: string | undefined) =>
  quantity === undefined ? "–" : quantityWords(resource, quantity);

/** Returns the images with their sizes, the largest first. */
export function imageRows(whole: WholeNode): { name: string; bytes: number }[] {
  const { images } = (whole.facts ?? {}) as Partial<Facts>;
  const rows = images
    ? images.map(({ repoTags, repoDigests, sizeBytes }) => ({
        name: repoTags[0] ?? repoDigests[0] ?? "",
        bytes: sizeBytes,
      }))
    : (shownNodeOf(whole).status?.images ?? []).map(({ names = [], sizeBytes = 0 }) => ({
        name: names.at(-1) ?? "",
        bytes: sizeBytes,
      }));
  return rows.toSorted((a, b) => b.bytes - a.bytes);
}
