// The machine's hardware as a tree, and all its facts as they came.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import type { Facts } from "../../../shared/protocol/facts.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { type HardwareBranch, hardwareTree } from "./hardware-tree.ts";
import { Fold, Nothing, Section } from "./section.tsx";

export function HardwareSection({ whole }: { whole: WholeNode }) {
  const { inventory } = (whole.facts ?? {}) as Partial<Facts>;
  const tree = hardwareTree(inventory);
  const leaves = tree.filter(({ branches }) => branches.length === 0);
  return (
    <Section id="hardware">
      {tree.length === 0 ? (
        <Nothing>{inventory === null ? "The machine is configured not to tell." : "Not known."}</Nothing>
      ) : (
        <>
          {leaves.length > 0 && <Branches branches={leaves} />}
          {tree
            .filter(({ branches }) => branches.length > 0)
            .map(({ name, branches }) => (
              <Fold key={name} title={<Title name={name} branches={branches} />}>
                <Branches branches={branches} />
              </Fold>
            ))}
        </>
      )}
    </Section>
  );
}

/** A number says nothing without its name. */
const saidOf = (name: string, text: string | undefined) =>
  text === undefined ? name : /^\d+$/.test(text) ? `${name} ${text}` : text;

/** What is in it, as far as it goes on a line. */
function Title({ name, branches }: { name: string; branches: readonly HardwareBranch[] }) {
  const said = branches.map(({ name, text }) => saidOf(name, text)).join(" · ");
  return (
    <>
      <strong>{name}</strong> <span class="quiet">{said}</span>
    </>
  );
}

function Branches({ branches }: { branches: readonly HardwareBranch[] }) {
  return (
    <ul class="machine-tree">
      {branches.map(({ name, text, branches }, index) => (
        <li key={index}>
          <span class="quiet">{name}</span> {text}
          {branches.length > 0 && <Branches branches={branches} />}
        </li>
      ))}
    </ul>
  );
}

export function RawFactsSection({ whole: { facts } }: { whole: WholeNode }) {
  return (
    <Section id="raw">
      {facts ? (
        <Fold title="The last good facts, as the machine sent them (JSON)">
          <RawFacts text={JSON.stringify(facts, null, 2)} />
        </Fold>
      ) : (
        <Nothing>None yet.</Nothing>
      )}
    </Section>
  );
}

function RawFacts({ text }: { text: string }) {
  return (
    <>
      <CopyButton text={text} of="the facts" />
      <pre tabIndex={0} role="region" aria-label="Facts as JSON">
        {text}
      </pre>
    </>
  );
}
