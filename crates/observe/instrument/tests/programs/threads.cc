#include <cstdio>
#include <omp.h>
#include <vector>
__attribute__((noinline)) double work(int i){ if(i%97==0) throw i; return i*0.5; }
__attribute__((noinline)) double safe(int i){ try { return work(i);} catch(int v){ return -v; } }
int main(){ double s=0; 
#pragma omp parallel for reduction(+:s) num_threads(4)
 for(int i=0;i<20000;i++) s+=safe(i);
 int n=0;
#pragma omp parallel num_threads(3)
 {
#pragma omp critical
 n++;
 }
 printf("%g %d\n", s, n); }
