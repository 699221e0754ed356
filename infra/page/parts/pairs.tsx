// Names and values in two columns; on a phone one below the other.
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
