// Looks at pages that echo what a hostile source wrote. Prints for each what a script of the source could have done there, and
// what a reader sees. Argument: { browser, pages }.

import { chromium } from "playwright-core";

const { browser: executablePath, pages } = JSON.parse(process.argv[2]);

const sandbox = process.getuid() === 0 ? ["--no-sandbox"] : []; // Chromium's own does not work for root
const browser = await chromium.launch({ executablePath, args: [...sandbox, "--disable-quic"] });
try {
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
  const seen = [];
  for (const address of pages) {
    const page = await context.newPage();
    const complaints = [];
    let dialogs = 0;
    page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
    page.on("pageerror", (error) => complaints.push(String(error)));
    page.on("dialog", (dialog) => {
      dialogs += 1;
      void dialog.dismiss();
    });
    await page.goto(address);
    await page.locator("canvas").first().waitFor();
    const inside = await page.evaluate(() => ({
      title: document.title,
      ran: "hostile" in window,
      elements: document.querySelectorAll("marquee, [onerror], script:not([src]):not([type$=json])").length,
      texts: document.documentElement.innerText,
    }));
    seen.push({ ...inside, dialogs, complaints });
    await page.close();
  }
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
