// The Node as YAML; what writes it is loaded when it is opened.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { useEffect, useState } from "preact/hooks";
import { CopyButton } from "../parts/copy-button.tsx";
import { nodeYaml } from "./node-yaml.ts";
import { Fold, Nothing, Section } from "./section.tsx";

export function YamlSection({ whole: { node } }: { whole: WholeNode }) {
  return (
    <Section id="yaml">
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
      <Nothing>
        {hasFailed ? "What writes YAML could not be loaded: load the page anew." : "Loading …"}
      </Nothing>
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
