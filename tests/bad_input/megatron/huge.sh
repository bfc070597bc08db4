torchrun --nproc-per-node 8 --nnodes 1 pretrain_gpt.py \
  --num-layers 32 --hidden-size 4096 --ffn-hidden-size 99999999999999999999 --num-attention-heads 32 \
  --swiglu --normalization RMSNorm --disable-bias-linear --position-embedding-type rope \
  --untie-embeddings-and-output-weights --vocab-size 32000 --max-position-embeddings 4096 \
  --seq-length 4096 --micro-batch-size 1 --global-batch-size 8 \
  --tensor-model-parallel-size 1 --pipeline-model-parallel-size 1 \
  --use-distributed-optimizer --bf16
