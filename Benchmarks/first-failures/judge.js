// Finds what is wrong with the visible page: content that needs scrolling, panels beyond the screen, cut or overlapping texts, and a
// contrast below WCAG AA. Returns a list of sentences.
const isPhone = arguments[0];
const problems = [];
const page = document.scrollingElement;
if (page.scrollWidth > innerWidth) problems.push(`the page is ${page.scrollWidth} px wide, the screen ${innerWidth} px`);
if (!isPhone && page.scrollHeight > innerHeight) problems.push(`the page is ${page.scrollHeight} px high, the screen ${innerHeight} px`);

const isSeen = (element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest(".hidden");
const nameOf = ({ id, tagName, className, parentElement }) => id ? `#${id}` : `${tagName.toLowerCase()}.${className || parentElement?.id}`;
if (!isPhone) {
  for (const panel of document.querySelectorAll("header, #banner, main > section, aside, aside > section, footer")) {
    if (!isSeen(panel)) continue;
    const { top, left, bottom, right } = panel.getBoundingClientRect();
    const isInside = top > -0.5 && left > -0.5 && bottom < innerHeight + 0.5 && right < innerWidth + 0.5;
    if (!isInside) problems.push(`${nameOf(panel)} is beyond the screen`);
    if (panel.scrollHeight > panel.clientHeight + 1 && getComputedStyle(panel).overflowY !== "visible") {
      problems.push(`${nameOf(panel)} must be scrolled: ${panel.scrollHeight} px in ${panel.clientHeight} px`);
    }
  }
}

// The elements that have a text of their own.
const texts = [...document.querySelectorAll("body *")].filter((element) =>
  isSeen(element) && !element.closest("svg, select, option, script, style")
  && [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent.trim()));
const boxes = texts.map((element) => {
  const range = document.createRange();
  range.selectNodeContents(element);
  const { left, right, top, bottom } = range.getBoundingClientRect();
  // The letters are smaller than the box of their font.
  const spare = 0.2 * parseFloat(getComputedStyle(element).fontSize);
  return { element, box: { left, right, top: top + spare, bottom: bottom - spare }, text: element.textContent.trim().slice(0, 50) };
});
for (const { element, text } of boxes) {
  for (let outer = element; outer && outer !== document.body; outer = outer.parentElement) {
    const style = getComputedStyle(outer);
    const isCut = style.overflowX === "hidden" && style.textOverflow === "ellipsis" && outer.scrollWidth > outer.clientWidth;
    if (isCut) problems.push(`${nameOf(outer)} is cut: ${outer.textContent.trim()}`);
  }
}
boxes.forEach(({ element, box, text }, index) => {
  for (const other of boxes.slice(index + 1)) {
    if (element.contains(other.element) || other.element.contains(element)) continue;
    const width = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
    const height = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
    const isHiddenByScrolling = [element, other.element].some((one) => one.closest("#devices, #fences, .below"));
    if (width > 1 && height > 1 && !isHiddenByScrolling) problems.push(`'${text}' and '${other.text}' overlap`);
  }
});

// Contrast, as WCAG 2.2 defines it.
const numbers = (colour) => (colour.match(/[\d.]+/g) ?? []).map(Number);
const luminance = ([red, green, blue]) => {
  const [r, g, b] = [red, green, blue].map((value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
function background(element) {
  for (let outer = element; outer; outer = outer.parentElement) {
    const colour = numbers(getComputedStyle(outer).backgroundColor);
    if (colour.length === 3 || colour[3] > 0.9) return colour;
  }
  return [255, 255, 255];
}
for (const { element, text } of boxes) {
  if (element.closest(":disabled")) continue;
  const style = getComputedStyle(element);
  const [lighter, darker] = [luminance(numbers(style.color)), luminance(background(element))].sort((one, other) => other - one);
  const contrast = (lighter + 0.05) / (darker + 0.05);
  const size = parseFloat(style.fontSize);
  const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
  if (contrast < needed) problems.push(`'${text}' has a contrast of ${contrast.toFixed(1)}, below ${needed}`);
}
return [...new Set(problems)];
