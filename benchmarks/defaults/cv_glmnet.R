# Fit cv.glmnet to every response and write its seconds and its predictions at lambda.min.
suppressPackageStartupMessages({library(glmnet); library(Matrix)})
arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
set.seed(as.integer(arguments[2]))
at <- function(name) file.path(folder, name)
numbers <- function(name, what, size) readBin(at(name), what, file.size(at(name)) / size, size)
matrix_of <- function(name) {
  shape <- scan(at(paste0(name, ".shape")), quiet = TRUE)
  if (file.exists(at(paste0(name, ".dense"))))
    return(matrix(numbers(paste0(name, ".dense"), "double", 8), shape[1], shape[2]))
  new("dgCMatrix", i = numbers(paste0(name, ".i"), "integer", 4),
      p = numbers(paste0(name, ".p"), "integer", 4), x = numbers(paste0(name, ".x"), "double", 8),
      Dim = as.integer(shape))
}
X <- matrix_of("X")
X_test <- matrix_of("X_test")
targets <- scan(at("targets"), quiet = TRUE)
Y <- matrix(numbers("Y", "double", 8), ncol = targets)
predictions <- matrix(0, nrow(X_test), targets)
seconds <- 0
nonzero <- 0
for (j in seq_len(targets)) {
  start <- proc.time()[["elapsed"]]
  fit <- suppressWarnings(cv.glmnet(X, Y[, j], nfolds = 5, standardize = FALSE))
  seconds <- seconds + proc.time()[["elapsed"]] - start
  predictions[, j] <- as.numeric(predict(fit, X_test, s = "lambda.min"))
  nonzero <- nonzero + sum(coef(fit, s = "lambda.min")[-1] != 0) / targets
}
writeBin(as.numeric(predictions), at("predictions"))
cat(seconds, nonzero, "\n", file = at("facts"))
