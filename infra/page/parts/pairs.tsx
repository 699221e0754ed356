// Draws names and values in two columns, or each value below its name on a phone.
import type { ComponentChildren } from "preact";

export type Pair = readonly [name: string, value: ComponentChildren];

export function Pairs({ pairs }: { pairs: readonly Pair[] }) {
  return (
    <dl class="pairs">
      {pairs.map(([name, value], index) => (
        <div key={`${index} ${name}`}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
