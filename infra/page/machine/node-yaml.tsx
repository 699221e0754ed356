// Draws the Node as `kubectl get node NAME -o yaml` prints it. Opening the section loads the YAML library.
import { useEffect, useState } from "preact/hooks";
import type { stringify } from "yaml";
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { CopyButton, MarkedText } from "../parts/command.tsx";
import { Fold, Nothing, Section } from "./section.tsx";

/** What the page does not show of a Node: its pods. */
const COMMANDS = [
  "`kubectl describe node NAME`",
  "`kubectl get pods -A -o wide --field-selector spec.nodeName=NAME`",
];

export function YamlSection({ whole: { name, node } }: { whole: WholeNode }) {
  return (
    <Section id="yaml">
      {node && (
        <p class="row">
          {COMMANDS.map((command) => (
            <MarkedText key={command} text={command} name={name} />
          ))}
        </p>
      )}
      {node ? (
        <Fold title="As the Worker read or wrote it last, without managedFields">
          <Yaml node={node} />
        </Fold>
      ) : (
        <Nothing>There is no Node, as far as is known.</Nothing>
      )}
    </Section>
  );
}

function Yaml({ node }: { node: object }) {
  const [text, setText] = useState<string | null>(null);
  const [hasFailed, setFailed] = useState(false);
  useEffect(() => {
    let isCurrent = true;
    import("yaml").then(
      ({ stringify }) => isCurrent && setText(nodeYaml(node, stringify)),
      () => setFailed(true),
    );
    return () => {
      isCurrent = false;
    };
  }, [node]);
  if (text === null)
    return (
      <Nothing>{hasFailed ? "The YAML library could not be loaded: reload the page." : "Loading …"}</Nothing>
    );
  return (
    <>
      <CopyButton text={text} of="the YAML" />
      <pre tabIndex={0} role="region" aria-label="The Node as YAML">
        {text}
      </pre>
    </>
  );
}

export function nodeYaml(node: object, write: typeof stringify): string {
  const { metadata = {}, ...rest } = node as { metadata?: { managedFields?: unknown } };
  const { managedFields: _, ...kept } = metadata;
  const whole = { apiVersion: "v1", kind: "Node", ...rest, metadata: kept };
  return write(whole, {
    lineWidth: 0,
    indentSeq: false,
    sortMapEntries: true,
    // Version 1.1 quotes the values that kubectl quotes: a YAML 1.1 parser would read them as another type.
    version: "1.1",
    aliasDuplicateObjects: false,
  });
}
