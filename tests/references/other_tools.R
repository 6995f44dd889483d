# What lavaan and R make of the files of other_tools.py. Run: Rscript other_tools.R FOLDER
suppressMessages({library(lavaan); library(jsonlite)})
folder <- commandArgs(TRUE)[1]
text <- function(name) paste(readLines(file.path(folder, name), encoding = "UTF-8"), collapse = "\n")
data <- read.csv(file.path(folder, "data.csv"), encoding = "UTF-8")
names(data)[5] <- "Koln"  # the one name that is not ASCII
fit <- lavaan(text("net.lavaan"), data)
table <- function(x, value) list(lhs = x$lhs, op = x$op, rhs = x$rhs, value = x[[value]])
script <- parse(file.path(folder, "net.R"), encoding = "UTF-8")
write_json(list(
  made_by = paste(R.version.string, "lavaan", packageVersion("lavaan")),
  columns = names(data), data = unname(as.matrix(data)),
  df = unname(fitMeasures(fit, "df")), free = table(parameterEstimates(fit), "est"),
  fixed = table(lavaanify(text("fixed.lavaan")), "ustart"),
  script = eval(script[[3]][[3]]$dist)  # the numbers that custom.fit would get
), file.path(folder, "lavaan.json"), digits = NA, auto_unbox = TRUE)
