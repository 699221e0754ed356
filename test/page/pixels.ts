// Compares two pictures in a browser. Cells of 8 × 8 pixels are compared by their average colour, so that another
// rasterizer of fonts, which smooths letters in another way, makes no difference.
import type { Page } from "playwright-core";

export interface Comparison {
  /** The sizes of both pictures, like `360×2000`. */
  sizes: [string, string];
  cells: number;
  /** The places of the cells whose colours differ, in pixels. */
  different: [x: number, y: number][];
}

const CELL = 8;
/** The largest difference between two average colours that counts as equal, of 255. */
const TOLERANCE = 24;

export function comparePictures(page: Page, before: Buffer, after: Buffer): Promise<Comparison> {
  const data = [before, after].map((each) => each.toString("base64"));
  return page.evaluate<Comparison>(`(async () => {
    const [before, after] = await Promise.all(${JSON.stringify(data)}.map(async (text) => {
      const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
      const picture = await createImageBitmap(new Blob([bytes], { type: "image/png" }));
      const canvas = new OffscreenCanvas(picture.width, picture.height);
      const context = canvas.getContext("2d");
      context.drawImage(picture, 0, 0);
      return context.getImageData(0, 0, picture.width, picture.height);
    }));
    const width = Math.min(before.width, after.width), height = Math.min(before.height, after.height);
    const average = ({ data, width: of }, left, top, channel) => {
      let sum = 0;
      for (let y = top; y < top + ${CELL}; y += 1)
        for (let x = left; x < left + ${CELL}; x += 1) sum += data[4 * (y * of + x) + channel];
      return sum / ${CELL * CELL};
    };
    const different = [];
    let cells = 0;
    for (let y = 0; y + ${CELL} <= height; y += ${CELL})
      for (let x = 0; x + ${CELL} <= width; x += ${CELL}) {
        cells += 1;
        if ([0, 1, 2].some((channel) => Math.abs(average(before, x, y, channel) - average(after, x, y, channel)) > ${TOLERANCE}))
          different.push([x, y]);
      }
    return { sizes: [before, after].map(({ width, height }) => width + "×" + height), cells, different };
  })()`);
}
