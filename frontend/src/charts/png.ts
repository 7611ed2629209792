// A drawn chart as a picture that can be put into a letter: the same colours and letters, on the background of the page.

const scale = 2;
const styles = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linejoin", "stroke-linecap", "opacity", "fill-opacity", "font-size", "font-weight", "font-family", "text-anchor", "letter-spacing"];

/** A copy of a chart whose style is written into its elements, since style sheets do not travel with it. */
function standalone(chart: SVGSVGElement): SVGSVGElement {
  const copy = chart.cloneNode(true) as SVGSVGElement;
  const [from, to] = [[chart, ...chart.querySelectorAll("*")], [copy, ...copy.querySelectorAll("*")]];
  from.forEach((element, at) => {
    const style = window.getComputedStyle(element);
    const target = to[at] as SVGElement;
    for (const name of styles) target.style.setProperty(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return copy;
}

/** Saves a chart as a PNG file. */
export async function savePng(chart: SVGSVGElement, name: string): Promise<void> {
  const { width, height } = chart.getBoundingClientRect();
  const text = new XMLSerializer().serializeToString(standalone(chart));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.fillStyle = window.getComputedStyle(document.body).backgroundColor;
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  const data = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (data === null) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(data);
  link.download = `${name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60) || "chart"}.png`;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
