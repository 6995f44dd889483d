// Colours, copy buttons and the tables of the report.
(function () {
  "use strict";

  const root = document.documentElement;
  root.classList.replace("no-js", "js");

  // ---- light and dark ---------------------------------------------------------------------
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const toggle = document.getElementById("theme");
  let chosen = null; // null follows the system

  function isDark() {
    return chosen === null ? system.matches : chosen === "dark";
  }

  function applyTheme() {
    const dark = isDark();
    root.dataset.theme = dark ? "dark" : "light";
    root.classList.toggle("dark", dark); // DataTables reads this class
    toggle.textContent = dark ? "Light colours" : "Dark colours"; // the theme that a click gives
    document.dispatchEvent(new Event("themechange"));
  }

  toggle.hidden = false;
  toggle.addEventListener("click", function () {
    chosen = isDark() ? "light" : "dark";
    applyTheme();
  });
  system.addEventListener("change", applyTheme);
  applyTheme();

  // ---- copy buttons -----------------------------------------------------------------------
  function select(element) {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = window.getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  }

  function copyOf(element) {
    if (navigator.clipboard && window.isSecureContext) {
      return navigator.clipboard.writeText(element.textContent);
    }
    select(element);
    return document.execCommand("copy") ? Promise.resolve() : Promise.reject(new Error("no copy"));
  }

  document.querySelectorAll("button.copy").forEach(function (button) {
    const said = button.parentElement.querySelector(".copy-said");
    button.addEventListener("click", function () {
      const element = document.getElementById(button.dataset.copy);
      copyOf(element).then(
        function () { said.textContent = "Copied."; },
        function () {
          select(element);
          said.textContent = "Selected: press Ctrl+C to copy.";
        }
      );
    });
  });

  // ---- tables -----------------------------------------------------------------------------
  const SHORT = 40; // characters of a text that stays on one line
  // If a spreadsheet would take a text for a formula, it gets an apostrophe in front.
  const FORMULA = /^[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/;

  function inert(text) {
    return FORMULA.test(text) ? "'" + text : text;
  }

  function exported(cell) {
    return cell.dataset.order === undefined ? inert(cell.textContent) : cell.dataset.order;
  }

  function csvButton(table) {
    return {
      extend: "csv",
      text: "Download CSV",
      titleAttr: "Download the rows that the search leaves, in this order",
      filename: table.id,
      title: null,
      footer: false,
      bom: true,
      exportOptions: {
        format: {
          header: function (text, column, cell) { return inert(cell.textContent.trim()); },
          body: function (text, row, column, cell) { return exported(cell); }
        }
      }
    };
  }

  function keepWhole(cell) {
    if (cell.textContent.length <= SHORT) { cell.classList.add("short"); }
  }

  // A button shows the folded columns, so that the most important columns fit the page.
  function moreButton(table) {
    const count = table.querySelectorAll("thead th.more").length;
    if (!count) { return []; }
    const label = "Show " + count + " more columns";
    return [{
      text: label,
      className: "more-columns",
      attr: { "aria-expanded": "false" },
      action: function (event, api, node) {
        const shown = node[0].getAttribute("aria-expanded") === "true";
        api.columns(".more").visible(!shown);
        node[0].setAttribute("aria-expanded", String(!shown));
        api.button(node).text(shown ? label : "Show fewer columns");
      }
    }];
  }

  function enhance(table) {
    const caption = table.caption.textContent;
    new window.DataTable(table, {
      autoWidth: false,
      order: [],
      pageLength: 10,
      lengthMenu: [10, 25, 100, { label: "all", value: -1 }],
      columnDefs: [
        { targets: "num", type: "num" },
        { targets: "name", className: "name" },
        { targets: "more", visible: false },
        { targets: "_all", createdCell: keepWhole }
      ],
      layout: {
        topStart: "search",
        topEnd: { buttons: [...moreButton(table), csvButton(table)] },
        bottomStart: ["info", "pageLength"],
        bottomEnd: "paging"
      },
      language: {
        search: "Search",
        lengthMenu: "Rows on a page _MENU_",
        entries: { _: "rows", 1: "row" },
        info: "_START_ to _END_ of _TOTAL_ _ENTRIES-TOTAL_",
        infoEmpty: "no rows",
        infoFiltered: "(of _MAX_)",
        zeroRecords: "No row has this text."
      }
    });
    const wrap = table.closest(".table-wrap");
    wrap.removeAttribute("tabindex"); // the part that scrolls is now inside it
    const scrolled = table.closest(".dt-layout-table");
    if (scrolled) {
      scrolled.tabIndex = 0;
      scrolled.setAttribute("role", "group");
      scrolled.setAttribute("aria-label", caption + ", scrolls sideways");
    }
    wrap.querySelectorAll(".dt-search input").forEach(function (input) {
      input.setAttribute("aria-label", "Search in: " + caption);
    });
    wrap.querySelectorAll(".dt-buttons .buttons-csv").forEach(function (button) {
      button.setAttribute("aria-label", "Download CSV of: " + caption);
    });
  }

  if (window.DataTable) {
    document.querySelectorAll("table.data").forEach(enhance);
  }

  // ---- paper ------------------------------------------------------------------------------
  const PRINTED = 50; // rows of a table on paper; the files beside the report have all rows
  let unprinted = []; // functions that restore the tables after printing

  function lengthen(table) {
    const api = new window.DataTable.Api(table), before = api.page.len();
    if (before > 0 && before < PRINTED) {
      api.page.len(PRINTED).draw(false);
      unprinted.push(function () { api.page.len(before).draw(false); });
    }
  }

  window.addEventListener("beforeprint", function () {
    root.classList.remove("dark");
    if (window.DataTable) { document.querySelectorAll("table.dataTable").forEach(lengthen); }
  });
  window.addEventListener("afterprint", function () {
    unprinted.forEach(function (undo) { undo(); });
    unprinted = [];
    root.classList.toggle("dark", isDark());
  });
})();
