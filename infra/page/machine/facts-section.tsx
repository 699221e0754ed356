// What a machine is made of and runs, its addresses, its resources, its images.
import type { WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { bytesText } from "../base/amounts.ts";
import { Pairs } from "../parts/pairs.tsx";
import { ScrollBox } from "../parts/scroll-box.tsx";
import { addressRows, factRows, imageRows, type ImageRow, resourceRows } from "./fact-rows.ts";
import { Fold, Nothing, Section } from "./section.tsx";

export function FactsSection({ whole }: { whole: WholeNode }) {
  const rows = factRows(whole);
  const addresses = addressRows(whole);
  const images = imageRows(whole);
  return (
    <Section id="facts">
      {rows.length === 0 ? (
        <Nothing>Nothing yet: they come with its first good report.</Nothing>
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
          <Images images={images} />
        </Fold>
      )}
    </Section>
  );
}

function Resources({ whole }: { whole: WholeNode }) {
  const rows = resourceRows(whole);
  if (rows.length === 0) return null;
  return (
    <>
      <h3>Resources</h3>
      <ScrollBox label="Resources">
        <table class="machine-resources">
          <thead>
            <tr>
              <th>Resource</th>
              <th class="number">Capacity</th>
              <th
                class="number"
                title="What a kubelet would let pods have of it; the Node has 0 if it runs none"
              >
                Allocatable
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ resource, capacity, allocatable }) => (
              <tr key={resource}>
                <th scope="row">{resource}</th>
                <td class="number">{capacity}</td>
                <td class="number">{allocatable}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollBox>
    </>
  );
}

function Images({ images }: { images: readonly ImageRow[] }) {
  return (
    <ul class="machine-images">
      {images.map(({ name, bytes }) => (
        <li key={name} class="row spread">
          <span class="mono">{name}</span>
          <span class="quiet">{bytesText(bytes)}</span>
        </li>
      ))}
    </ul>
  );
}
