// Prints what a scraper of Open Graph and Twitter cards (https://www.npmjs.com/package/open-graph-scraper) finds at a
// link. Arguments: { link }.

import scrape from "open-graph-scraper";

const { link: url } = JSON.parse(process.argv[2]);
const { result } = await scrape({ url });
console.log(JSON.stringify(result));
