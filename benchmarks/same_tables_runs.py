"""The commands that `same_tables.py` compares, on the inputs of `same_tables_inputs.py`.

Each run is a list of commands. They run one after the other in the folder of the run, so that a
later one can use what an earlier one wrote. The slowest runs come first.
"""

FEW = "--permutations 40 --half-samples 3 --folds 2 --repeats 1 --workers 1 --out results"
QUICK = f"--quick {FEW} --refinements"  # without refinements
TWO = "../inputs/two.csv --group dx --id subject_id --covariates age sex eTIV"
FORMATS = ("bnlearn", "bnlearn-r", "bif", "dagitty", "tetrad", "lavaan", "semopy", "dot", "json")
LEARNERS = ("SGBN --gamma 0.5", "HSGBN --alpha 0.2", "ORSGBN", "TC")
BASELINES = ("GS", "InterIAMBnPC", "L1MB", "TCbw")
COMMANDS = (
    "demo check compare predict convert extract read-subjects simulate reproduce status warmup"
)
RUNS = {
    "ixi": [
        "compare ../inputs/ixi_age.csv --group group --covariates sex eTIV --site site --exclude "
        "age euler_mean --quick --deviations --refinements KL-SGBN --out results"
    ],
    "exp3": [
        "reproduce exp3 --splits 2 --k 8 --train 40 --test 20 --out results",
        "reproduce exp3 --splits 2 --k 8 --train 40 --test 20 --canary --out results",
    ],
    "demo": ["demo --subjects 60 --out results"],
    "demo-series": ["demo --series --subjects 12 --out results"],
    "every-step": [  # none is left out, subjects are named, and folders are used again
        f"compare {TWO} --site site {FEW} --accuracy-permutations 19 --subjects-in-report",
        f"compare {TWO} --site site {FEW} --accuracy-permutations 19 --subjects-in-report",
        "status results",
        f"compare {TWO} --site site {FEW} --seed 1",
        "compare --config results/config.toml --out results --figures --workers 2",
        "compare --config results/config.toml --quick --no-accuracy --out again --workers 2",
        "predict results/model.sgbn ../inputs/new.csv",
        "predict results/model.sgbn ../inputs/new.csv --explain --out predicted.csv",
        "predict results/model.sgbn ../inputs/narrow.csv",
    ],
    "groups": [
        "compare ../inputs/groups.csv --group dx --reference mild --covariates age sex --edges "
        "Frontal_Sup_R:Hippocampus_L Insula_L:Cuneus_L --among Amygdala_L Insula_L Hippocampus_L "
        f"{FEW} --refinements KL-SGBN",
        "predict results/model.sgbn ../inputs/groups.csv",
    ],
    "pairs": [
        "compare ../inputs/pairs.csv --group visit --pair person --covariates age --sensitivity "
        f"{QUICK}"
    ],
    "persons": [
        "compare ../inputs/persons.csv --group dx --subject person --block family --site site "
        f"--covariates age sex {QUICK} --model --peers --deviations"
    ],
    "gaps": [
        "check ../inputs/gaps.csv --group dx --covariates age --missing -999",
        "compare ../inputs/gaps.csv --group dx --covariates age sex --smooth age --missing -999 "
        f"--exclude eTIV --select 4 {QUICK} --model",
    ],
    "replicate": [
        f"compare {TWO} {QUICK} --replicate half --no-accuracy --permutations 200",
        f"compare {TWO} {QUICK} --replicate site=A --site site --no-accuracy --out by-site",
    ],
    "learners": [
        f"compare {TWO} --learner {name} {QUICK} --models --model --out {name.split()[0]}"
        for name in LEARNERS
    ],
    "baselines": [
        f"compare {TWO} --learner {name} {QUICK} --no-accuracy --permutations 0 --out {name}"
        for name in BASELINES
    ],
    "normal-scores": [
        f"compare {TWO} --transform normal-scores --outliers keep {QUICK} --sensitivity --level 0.1"
    ],
    "series": [
        "check ../inputs/bids --group dx --out quality",
        f"compare ../inputs/bids --group dx --covariates age {FEW}",
        "compare ../inputs/series.npz --participants ../inputs/bids/participants.tsv --group dx "
        f"--tr 2 {QUICK} --no-accuracy --edges r1:r2 r2:r4 --out archive",
        f"compare ../inputs/long.csv --group dx --site sex --tr 2 {QUICK} --out long",
    ],
    "freesurfer": [
        "compare ../inputs/lh.txt ../inputs/rh.txt ../inputs/aseg.txt --participants "
        "../inputs/participants.tsv --group dx --covariates age EstimatedTotalIntraCranialVol "
        f"{QUICK}",
        "check ../inputs/lh.txt --freesurfer --participants ../inputs/participants.tsv --group dx "
        "--lobes frontal parietal occipital --covariates age",
    ],
    "tables": [  # in other formats, and with an atlas that is a table
        "check ../inputs/two.xlsx --sheet Data --group dx --site site --covariates age",
        "check ../inputs/two.parquet --group dx --covariates age sex --groups patient control",
        "check ../inputs/semicolons.csv --group dx --covariates age",
        "check ../inputs/tabs.tsv.gz --group dx --regions Front* Hippocampus_L",
        f"compare {TWO} --atlas ../inputs/atlas.csv --lobes limbic frontal {QUICK}",
    ],
    "extract": [
        "extract ../inputs/maps --atlas ../inputs/labels.nii.gz --out volumes --workers 1",
        "extract ../inputs/maps ../inputs/bad --atlas ../inputs/labels.nii.gz --measure mean "
        "--on-error skip --out means",
        "extract ../inputs/bold --atlas ../inputs/labels.nii.gz --time-series --out series",
        "check volumes/regions.csv --participants ../inputs/participants.tsv --group dx "
        "--participants-missing drop",
        "check series --participants ../inputs/participants.tsv --group dx --tr 2",
    ],
    "read-subjects": [
        "read-subjects ../inputs/subjects --participants ../inputs/participants.tsv --out means",
        "read-subjects ../inputs/subjects --measure volume --no-aseg --on-error raise --out volume",
        "read-subjects ../inputs/cat12 --out cat12",
        "read-subjects ../inputs/cat12 --parcellation neuromorphometrics --out roi",
    ],
    "convert": [
        f"compare {TWO} --learner SGBN {QUICK} --permutations 0 --no-accuracy",
        *(f"convert results/networks/control.json --to {name} --out {name}" for name in FORMATS),
        *(f"convert {name} --from {name} --to json" for name in FORMATS),
        "convert results/networks/control.json --to dagitty --directions cpdag",
        "convert results/networks/control.json --to tetrad --directions supported",
        "convert results/networks/control.json --to lavaan --weights fixed",
        "convert results/networks/control.json --to semopy --weights start",
    ],
    "simulate": [
        "simulate --sizes 40 30 20 --groups a b c --regions 12 --sites 3 --covariates --missing "
        "0.02 --confounding 0.5 --seed 3 --out study",
        "simulate --subjects 12 --regions all --atlas desikan_killiany --differ means --out means",
        "check study/cohort.csv --group group --id subject_id --covariates age sex --site site",
    ],
    "exp1": ["reproduce exp1 --permutations 2 --out results"],
    "exp2": ["reproduce exp2 --simulations 2 --networks chain factors --out results"],
    "exp4": [
        "reproduce exp4 --permutations 19 --orders 2 --k 8 --out results --workers 2",
        f"reproduce exp4 --table {TWO} --permutations 20 --orders 2 --k 6 --out table",
        "status table",
    ],
    "errors": [
        "compare ../inputs/none.csv --group dx --out x",
        "compare ../inputs/two.csv --group DX --out x",
        "compare ../inputs/two.csv --gruop dx --out x",
        "compare --group dx --covariates ../inputs/two.csv --out x",
        "compare ../inputs/two.csv --group dx --out x",
        "compare ../inputs/subjects --group dx --out x",
        "compare ../inputs/single.csv --group dx --covariates age eTIV --out x",
        "compare ../inputs/gaps.csv --group dx --covariates age eTIV --out x",
        "compare ../inputs/persons.csv --group dx --covariates age eTIV --out x",
        "compare ../inputs/bids --group dx --learner TC --out x",
        *(
            f"compare {TWO} --out x {words}"
            for words in (
                *("--permutations 10", "--level 5", "--learner TC --gamma 1", "--learner Nobody"),
                *("--edges Insula_L", "--edges Insula_L:Nowhere", "--among Nowhere"),
                *("--replicate sex=X", "--smooth site", "--figures", "--select 0", "--lobes moon"),
                *("--reference nobody", "--atlas moon", "--groups control", "--pair sex"),
            )
        ),
        "predict ../inputs/two.csv ../inputs/new.csv",
        "predict none.sgbn ../inputs/new.csv",
        "convert ../inputs/two.csv --to dot",
        "extract ../inputs/none --atlas ../inputs/labels.nii.gz --out x",
        "extract ../inputs/bad --atlas ../inputs/labels.nii.gz --out x",
        "read-subjects ../inputs/maps --out x",
        "simulate --regions 1 --out x",
        "simulate --groups a --out x",
        "demo --out ../inputs/two.csv",
        "demo --series --gamma 1 --out x",
        "reproduce exp2 --networks moon --out x",
        f"reproduce exp4 --table {TWO} --pair site --out x",
        "reproduce exp3 --group dx --out x",
        "status ../inputs",
    ],
    "help": ["--help", "--version", *(f"{name} --help" for name in COMMANDS.split())],
}
